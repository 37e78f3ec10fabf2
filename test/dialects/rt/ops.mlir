// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

// Programs, memory and tables keep every field through text.
// CHECK: rt.mesh ["dp", "tp"] sizes [2, 2]
rt.mesh ["dp", "tp"] sizes [2, 2]
// CHECK: rt.state @w global tensor<3x8xf32> local memref<3x4xf32> placement <[3], [8:"tp"]>
// CHECK-SAME: pieces [#rt.piece<type = tensor<3x8xf32>, file = "m.bin", offset = 64, hash = 7>] offset 128
rt.state @w global tensor<3x8xf32> local memref<3x4xf32> placement <[3], [8:"tp"]>
  pieces [#rt.piece<type = tensor<3x8xf32>, file = "m.bin", offset = 64, hash = 7>] offset 128
// CHECK: rt.state @c {{.*}}data = dense<{{.*}}> : tensor<2xi64>
rt.state @c global tensor<2xi64> local memref<2xi64> placement <[2]>
  pieces [#rt.piece<type = tensor<2xi64>, data = dense<[1, 2]> : tensor<2xi64>>]

func.func private @gelu(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %a : tensor<4x8xf32>
}

// CHECK-LABEL: rt.program @forward streams 2 events 2 arena 4096
rt.program @forward streams 2 events 2 arena 4096 {
  // CHECK: %[[X:.+]] = rt.buffer "x" input offset 64 lives [0, 9] : memref<4x8xf32>
  %x = rt.buffer "x" input offset 64 lives [0, 9] : memref<4x8xf32>
  // CHECK: rt.input "x" %[[X]] global tensor<8x8xf32> placement <[8:"dp"], [8]> : memref<4x8xf32>
  rt.input "x" %x global tensor<8x8xf32> placement <[8:"dp"], [8]> : memref<4x8xf32>
  // CHECK: rt.state_buffer @w : memref<3x4xf32>
  %w = rt.state_buffer @w : memref<3x4xf32>
  %y = rt.buffer "y" activation : memref<4x8xf32>
  %z = rt.buffer "z" output : memref<4x4xf32>
  // CHECK: %[[V:.+]] = rt.view %[[X]] : memref<4x8xf32> to memref<4x3xf32, strided<[8, 1], offset: 2>>
  %v = rt.view %x : memref<4x8xf32> to memref<4x3xf32, strided<[8, 1], offset: 2>>
  // CHECK: rt.launch @gelu reads(%[[X]] : memref<4x8xf32>) writes(%{{.+}} : memref<4x8xf32>) stream 0
  rt.launch @gelu reads(%x : memref<4x8xf32>) writes(%y : memref<4x8xf32>) stream 0
  // CHECK: rt.gemm %[[V]], %{{.+}} -> %{{.+}} accumulate f32 stream 0
  rt.gemm %v, %w -> %z accumulate f32 stream 0
    : memref<4x3xf32, strided<[8, 1], offset: 2>>, memref<3x4xf32> -> memref<4x4xf32>
  // CHECK: rt.gemm %[[V]], %{{.+}} -> %[[Z:.+]] plus(%[[Z]] : memref<4x4xf32>) accumulate f32 stream 0
  rt.gemm %v, %w -> %z plus(%z : memref<4x4xf32>) accumulate f32 stream 0
    : memref<4x3xf32, strided<[8, 1], offset: 2>>, memref<3x4xf32> -> memref<4x4xf32>
  // CHECK: rt.gemm %[[V]], %{{.+}} -> %[[Z:.+]] plus(%{{.+}}, %[[Z]] : memref<4x4xf32, strided<[0, 1]>>, memref<4x4xf32>) accumulate f32 stream 0
  %b = rt.view %z : memref<4x4xf32> to memref<4x4xf32, strided<[0, 1]>>
  rt.gemm %v, %w -> %z plus(%b, %z : memref<4x4xf32, strided<[0, 1]>>, memref<4x4xf32>) accumulate f32 stream 0
    : memref<4x3xf32, strided<[8, 1], offset: 2>>, memref<3x4xf32> -> memref<4x4xf32>
  // CHECK: rt.record 0 stream 0
  rt.record 0 stream 0
  // CHECK: rt.wait 0 stream 1
  rt.wait 0 stream 1
  // CHECK: rt.collective all_reduce sum %[[Y:.+]] -> %[[Y]] axes ["tp"] shape [1, 32, 1, 1, 1] accumulate f32 stream 1
  rt.collective all_reduce sum %y -> %y axes ["tp"] shape [1, 32, 1, 1, 1] accumulate f32 stream 1
    : memref<4x8xf32> -> memref<4x8xf32>
  // CHECK: rt.collective all_reduce sum %[[Y]], %{{.+}} -> %[[Y]], %{{.+}} axes ["tp"] shape [1, 32, 1, 1, 1, 1, 16, 1, 1, 1] accumulate f32 stream 1
  rt.collective all_reduce sum %y, %z -> %y, %z axes ["tp"] shape [1, 32, 1, 1, 1, 1, 16, 1, 1, 1] accumulate f32 stream 1
    : memref<4x8xf32>, memref<4x4xf32> -> memref<4x8xf32>, memref<4x4xf32>
  %s = rt.buffer "s" activation : memref<2x8xf32>
  // CHECK: rt.slice %{{.+}} -> %{{.+}} axes ["dp"] shape [1, 4, 8] stream 0
  rt.slice %x -> %s axes ["dp"] shape [1, 4, 8] stream 0 : memref<4x8xf32> -> memref<2x8xf32>
  // CHECK: rt.copy
  rt.copy %x -> %y stream 0 : memref<4x8xf32> -> memref<4x8xf32>
  // CHECK: rt.output "z"
  rt.output "z" %z global tensor<8x4xf32> placement <[8:"dp"], [4]> : memref<4x4xf32>
}

// Library calls with every optional operand.
// CHECK-LABEL: rt.program @calls
rt.program @calls streams 1 events 0 {
  %i = rt.buffer "i" input : memref<1x2x8xf32>
  %f = rt.buffer "f" input : memref<4x2x3xf32>
  %o = rt.buffer "o" output : memref<1x4x6xf32>
  // CHECK: rt.conv %{{.+}}, %{{.+}} -> %{{.+}} strides [1] pads [0] dilations [1] input_dilations [1] groups 1 stream 0
  rt.conv %i, %f -> %o strides [1] pads [0] dilations [1] input_dilations [1] groups 1 stream 0
    : memref<1x2x8xf32>, memref<4x2x3xf32> -> memref<1x4x6xf32>
  %q = rt.buffer "q" input : memref<1x4x5x8xf32>
  %k = rt.buffer "k" input : memref<1x2x7x8xf32>
  %m = rt.buffer "m" input : memref<1x4x5x7xf32>
  // CHECK: rt.attention %{{.+}}, %{{.+}}, %{{.+}} -> %{{.+}} mask(%{{.+}} : memref<1x4x5x7xf32>) scale 5.000000e-01 stream 0 {causal}
  rt.attention %q, %k, %k -> %q mask(%m : memref<1x4x5x7xf32>) scale 0.5 stream 0 {causal}
    : memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32> -> memref<1x4x5x8xf32>
  // CHECK: rt.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} -> %{{.+}}, %{{.+}}, %{{.+}} mask(%{{.+}} : memref<1x4x5x7xf32>) scale 5.000000e-01 stream 0 {causal}
  rt.attention_grad %q, %k, %k, %q, %q -> %q, %k, %k mask(%m : memref<1x4x5x7xf32>) scale 0.5 stream 0 {causal}
    : memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32>, memref<1x4x5x8xf32>, memref<1x4x5x8xf32>
    -> memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32>
  %s = rt.buffer "s" output : memref<1x4x5xf32>
  // CHECK: rt.attention_with_sums %{{.+}}, %{{.+}}, %{{.+}} -> %{{.+}}, %{{.+}} scale 5.000000e-01 stream 0 {causal}
  rt.attention_with_sums %q, %k, %k -> %q, %s scale 0.5 stream 0 {causal}
    : memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32> -> memref<1x4x5x8xf32>, memref<1x4x5xf32>
  // CHECK: rt.attention_with_sums_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} -> %{{.+}}, %{{.+}}, %{{.+}} scale 5.000000e-01 stream 0
  rt.attention_with_sums_grad %q, %k, %k, %q, %q, %s -> %q, %k, %k scale 0.5 stream 0
    : memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32>, memref<1x4x5x8xf32>, memref<1x4x5x8xf32>, memref<1x4x5xf32>
    -> memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32>
  %ids = rt.buffer "ids" input : memref<2x4x1xi64>
  %u = rt.buffer "u" input : memref<2x4x8xf32>
  %t = rt.buffer "t" output : memref<100x8xf32>
  // CHECK: rt.scatter_add %{{.+}}, %{{.+}} -> %{{.+}} stream 0 :
  rt.scatter_add %ids, %u -> %t stream 0 : memref<2x4x1xi64>, memref<2x4x8xf32> -> memref<100x8xf32>
  // CHECK: rt.scatter_add %{{.+}}, %{{.+}} -> %[[T:.+]] operand(%[[T]] : memref<100x8xf32>) stream 0 :
  rt.scatter_add %ids, %u -> %t operand(%t : memref<100x8xf32>) stream 0 : memref<2x4x1xi64>, memref<2x4x8xf32> -> memref<100x8xf32>
}

// Fusions and calls on tensors; types inside have no encoding.
// CHECK-LABEL: func.func @fusions
func.func @fusions(%x: tensor<4x8xf32, 7>) -> tensor<4x8xf32, 7> {
  // CHECK: rt.fusion kernel(%{{.+}} : tensor<4x8xf32, 7 : i64>) -> (tensor<4x8xf32, 7 : i64>) {
  %0 = rt.fusion kernel(%x : tensor<4x8xf32, 7>) -> (tensor<4x8xf32, 7>) {
  ^bb0(%a: tensor<4x8xf32>):
    rt.yield %a : tensor<4x8xf32>
  }
  // CHECK: rt.call @gelu(%{{.+}}) : (tensor<4x8xf32, 7 : i64>) -> tensor<4x8xf32, 7 : i64>
  %1 = rt.call @gelu(%0) : (tensor<4x8xf32, 7>) -> tensor<4x8xf32, 7>
  // CHECK: rt.dense
  %2 = rt.dense %1 : tensor<4x8xf32, 7>
  return %2 : tensor<4x8xf32, 7>
}

// CHECK-LABEL: func.func @puts
func.func @puts(%x: tensor<2x2x2xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[A:.+]] = rt.put %{{.+}} at 0 : (tensor<2x2x2xf32>) -> tensor<4x4xf32>
  %0 = rt.put %x at 0 : (tensor<2x2x2xf32>) -> tensor<4x4xf32>
  // CHECK: rt.put %{{.+}} at 2 into %[[A]] : (tensor<2x2x2xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = rt.put %x at 2 into %0 : (tensor<2x2x2xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// Steps that share messages; the code of an op that depends on the process.
#one = #dist.mesh<["dp"=2]>
!due = tensor<4xf32, #dist.local<#one, [4], partial = sum["dp"]>>
!whole = tensor<4xf32, #dist.local<#one, [4]>>
// CHECK-LABEL: func.func @buckets
func.func @buckets(%x: !due, %y: !due) -> (!whole, !whole) {
  // CHECK: %{{.+}}:2 = rt.bucket(%{{.+}}, %{{.+}} : tensor<4xf32, {{.*}}>, tensor<4xf32, {{.*}}>) -> (tensor<4xf32, {{.*}}>, tensor<4xf32, {{.*}}>) {
  %0:2 = rt.bucket(%x, %y : !due, !due) -> (!whole, !whole) {
  ^bb0(%p: !due, %q: !due):
    %1 = dist.all_reduce %p ["dp"] accumulate f32 : !due -> !whole
    %2 = dist.all_reduce %q ["dp"] accumulate f32 : !due -> !whole
    // CHECK: rt.yield %{{.+}}, %{{.+}}
    rt.yield %1, %2 : !whole, !whole
  }
  return %0#0, %0#1 : !whole, !whole
}

// CHECK-LABEL: func.func @bodies
func.func @bodies(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: %[[C:.+]] = rt.coordinate "tp" : tensor<1xi64>
  %0 = rt.coordinate "tp" : tensor<1xi64>
  // CHECK: rt.body(%{{.+}}, %[[C]] : tensor<3xf32>, tensor<1xi64>) -> tensor<3xf32> {
  %1 = rt.body(%x, %0 : tensor<3xf32>, tensor<1xi64>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>, %c: tensor<1xi64>):
    rt.yield %a : tensor<3xf32>
  }
  return %1 : tensor<3xf32>
}

// A routine: a function that programs call on tensors, then commands on blocks that they invoke.
// CHECK: func.func private @block(%{{.+}}: tensor<8xf32>, %{{.+}}: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-SAME: rt.in_place = array<i64: -1, 1>, rt.routine
func.func private @block(%x: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {rt.routine, rt.in_place = array<i64: -1, 1>} {
  %0 = rt.dense %x : tensor<8xf32>
  %1 = rt.dense %0 : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @calls_routine
func.func @calls_routine(%x: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: rt.call @block(%{{.+}}, %{{.+}}) {label = "h.5", microbatch = 2 : i64} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %0:2 = rt.call @block(%x, %s) {label = "h.5", microbatch = 2 : i64} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
// CHECK: rt.program @routine routine [-1, 1] streams 1 events 0 arena 64 {
// CHECK-NEXT: ^bb0(%[[X:.+]]: memref<8xf32>, %[[S:.+]]: memref<8xf32>, %[[Y:.+]]: memref<8xf32>):
rt.program @routine routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
  %0 = rt.buffer "a" activation offset 0 lives [0, 1] : memref<8xf32>
  // CHECK: rt.copy %[[X]] -> %{{.+}} stream 0
  rt.copy %x -> %0 stream 0 : memref<8xf32> -> memref<8xf32>
  rt.copy %0 -> %y stream 0 : memref<8xf32> -> memref<8xf32>
}
// CHECK-LABEL: rt.program @invokes
rt.program @invokes streams 1 events 0 {
  %x = rt.buffer "x" input : memref<2x8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "routine" workspace : memref<64xi8>
  %r = rt.view %x : memref<2x8xf32> to memref<8xf32, strided<[1], offset: 8>>
  // CHECK: rt.invoke @routine reads(%{{.+}}, %[[S:.+]] : memref<8xf32, strided<[1], offset: 8>>, memref<8xf32>) writes(%{{.+}}, %[[S]] : memref<8xf32>, memref<8xf32>) scratch(%{{.+}} : memref<64xi8>) stream 0 {label = "h.5", microbatch = 2 : i64}
  rt.invoke @routine reads(%r, %s : memref<8xf32, strided<[1], offset: 8>>, memref<8xf32>) writes(%y, %s : memref<8xf32>, memref<8xf32>)
    scratch(%w : memref<64xi8>) stream 0 {label = "h.5", microbatch = 2 : i64}
}
// CHECK-LABEL: rt.program @invokes_first
rt.program @invokes_first streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "routine" workspace : memref<64xi8>
  // CHECK: rt.invoke @routine {{.*}} scratch(%{{.+}} : memref<64xi8>) unset [1] stream 0
  rt.invoke @routine reads(%x, %s : memref<8xf32>, memref<8xf32>) writes(%y, %s : memref<8xf32>, memref<8xf32>)
    scratch(%w : memref<64xi8>) unset [1] stream 0
}
// CHECK-LABEL: func.func @nothing_yet
func.func @nothing_yet() -> tensor<8xf32> {
  // CHECK: rt.nothing : tensor<8xf32>
  %0 = rt.nothing : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: rt.program @empty routine [] streams 1 events 0 {
rt.program @empty routine [] streams 1 events 0 {
}
// CHECK-LABEL: rt.program @nothing
rt.program @nothing streams 2 events 0 {
  // CHECK: rt.invoke @empty reads() writes() communicates stream 1
  rt.invoke @empty reads() writes() communicates stream 1
}

// Stages of a pipeline: a module each, with transfers between them.
module {
  // CHECK-LABEL: module @stage1 attributes {weft.stage = 1 : i64}
  module @stage1 attributes {weft.stage = 1 : i64} {
    // CHECK: rt.mesh ["pp", "dp"] sizes [2, 2] stages ["pp"]
    rt.mesh ["pp", "dp"] sizes [2, 2] stages ["pp"]
    rt.program @forward streams 3 events 0 {
      %x = rt.buffer "x" communication : memref<4x8xf32>
      // CHECK: rt.recv -> %[[X:.+]] from 0 on "F1.x" stream 2 : memref<4x8xf32>
      rt.recv -> %x from 0 on "F1.x" stream 2 : memref<4x8xf32>
      // CHECK: rt.send %[[X]] to 0 on "B1.x" stream 2 : memref<4x8xf32>
      rt.send %x to 0 on "B1.x" stream 2 : memref<4x8xf32>
    }
  }
}
