// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels --rt-lower-to-commands | FileCheck %s

// States and tables become states, arguments inputs, results outputs; the
// function stays as the spec, and each command names its op in it.
// CHECK: rt.state @w global tensor<8x4xf32> local memref<8x4xf32> placement <[8], [4]> pieces [#rt.piece<type = tensor<8x4xf32>, file = "m.bin", offset = 64>]
// CHECK: rt.state @constant.0 {{.*}}data = dense<
// CHECK-LABEL: rt.program @forward
// CHECK-SAME: rt.spec = @forward.spec
// CHECK: %[[X:.+]] = rt.buffer "x" input : memref<4x8xf32>
// CHECK: rt.input "x" %[[X]] global tensor<4x8xf32>
// CHECK: %[[W:.+]] = rt.state_buffer @w
// CHECK: %[[P:.+]] = rt.buffer "proj" activation : memref<4x4xf32>
// CHECK: rt.gemm %[[X]], %[[W]] -> %[[P]] accumulate f32 stream 0 {rt.origin = 0 : i64}
// CHECK: %[[K:.+]] = rt.state_buffer @constant.0
// CHECK: %[[Y:.+]] = rt.buffer "y" output : memref<4x4xf32>
// CHECK: rt.launch @k_scale reads(%[[P]], %[[K]] : memref<4x4xf32>, memref<4x4xf32>) writes(%[[Y]] : memref<4x4xf32>) stream 0 {rt.origin = 2 : i64}
// CHECK: rt.output "y" %[[Y]]
// CHECK: func.func private @forward.spec
// CHECK-SAME: attributes {rt.spec}
func.func @forward(%x: tensor<4x8xf32> {nn.name = "x"},
                   %w: tensor<8x4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 64, length = 128>})
    -> (tensor<4x4xf32> {nn.name = "y"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("proj")
  %c = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 9.0]]> : tensor<4x4xf32> : tensor<4x4xf32>
  %1 = nn.mul %0, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("scale")
  return %1 : tensor<4x4xf32>
}

// What a library call makes as parts of one value are views of its buffer, which share no element.
// CHECK-LABEL: rt.program @packed
// CHECK: %[[Y:.+]] = rt.buffer "y" output : memref<2x8x192xf32>
// CHECK-DAG: %[[Q:.+]] = rt.view %[[Y]] : memref<2x8x192xf32> to memref<2x4x8x16xf32, strided<[1536, 16, 192, 1]>>
// CHECK-DAG: %[[K:.+]] = rt.view %[[Y]] : memref<2x8x192xf32> to memref<2x4x8x16xf32, strided<[1536, 16, 192, 1], offset: 64>>
// CHECK-DAG: %[[V:.+]] = rt.view %[[Y]] : memref<2x8x192xf32> to memref<2x4x8x16xf32, strided<[1536, 16, 192, 1], offset: 128>>
// CHECK: rt.attention_grad {{.*}} -> %[[Q]], %[[K]], %[[V]]
// CHECK-NOT: rt.launch
// CHECK: rt.output "y" %[[Y]]
func.func @packed(%q: tensor<2x4x8x16xf32> {nn.name = "q"}) -> (tensor<2x8x192xf32> {nn.name = "y"}) {
  %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %q, %q scale = 0.25
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  %0 = nn.transpose %dq permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %1 = nn.transpose %dk permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %2 = nn.transpose %dv permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %3 = nn.reshape %0 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %4 = nn.reshape %1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %5 = nn.reshape %2 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %6 = nn.concat %3, %4, %5 dim = 2 : (tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<2x8x192xf32>
  return %6 : tensor<2x8x192xf32>
}

// What it makes as values of their own is written as each is wanted: here the gradient of the keys is permuted.
// CHECK-LABEL: rt.program @permuted
// CHECK-DAG: %[[Q:.+]] = rt.buffer "q" output : memref<2x4x8x16xf32>
// CHECK-DAG: %[[TURNED:.+]] = rt.buffer "k" output : memref<2x8x4x16xf32>
// CHECK-DAG: %[[V:.+]] = rt.buffer "v" output : memref<2x4x8x16xf32>
// CHECK-DAG: %[[K:.+]] = rt.view %[[TURNED]] : memref<2x8x4x16xf32> to memref<2x4x8x16xf32, strided<[512, 16, 64, 1]>>
// CHECK: rt.attention_grad {{.*}} -> %[[Q]], %[[K]], %[[V]]
// CHECK-NOT: rt.launch
// CHECK: rt.output "q" %[[Q]]
func.func @permuted(%x: tensor<2x4x8x16xf32> {nn.name = "x"})
    -> (tensor<2x4x8x16xf32> {nn.name = "q"}, tensor<2x8x4x16xf32> {nn.name = "k"}, tensor<2x4x8x16xf32> {nn.name = "v"}) {
  %dq, %dk, %dv = nn.attention_grad %x, %x, %x, %x, %x scale = 0.25
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  %0 = nn.transpose %dk permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  return %dq, %0, %dv : tensor<2x4x8x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8x16xf32>
}

// Rows are copied into a part of the output's buffer, in which they lie from the first on.
// CHECK-LABEL: rt.program @rows
// CHECK: %[[A:.+]] = rt.buffer "a" activation : memref<2x2x2xf32>
// CHECK: %[[Y:.+]] = rt.buffer "y" output : memref<4x4xf32>
// CHECK: %[[FIRST:.+]] = rt.view %[[Y]] : memref<4x4xf32> to memref<2x2x2xf32, strided<[8, 2, 1]>>
// CHECK: rt.copy %[[A]] -> %[[FIRST]]
// CHECK-NOT: rt.buffer "y"
// CHECK: %[[LAST:.+]] = rt.view %[[Y]] : memref<4x4xf32> to memref<2x2x2xf32, strided<[8, 2, 1], offset: 4>>
// CHECK: rt.copy %{{.+}} -> %[[LAST]]
// CHECK: rt.output "y" %[[Y]]
func.func @rows(%x: tensor<2x2x2xf32> {nn.name = "x"}) -> (tensor<4x4xf32> {nn.name = "y"}) {
  %0 = rt.dense %x : tensor<2x2x2xf32> loc("a")
  %1 = rt.put %0 at 0 : (tensor<2x2x2xf32>) -> tensor<4x4xf32>
  %2 = rt.dense %x : tensor<2x2x2xf32> loc("b")
  %3 = rt.put %2 at 2 into %1 : (tensor<2x2x2xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
