// RUN: weft-compile -q %s --compile-to scheduled --explain=json -o %t.mlir | FileCheck %s
// What a call leaves unset its routine does not read, through however many views: of three products that are added up, the second
// and third read the sum so far. Each reads 2 times 16 numbers.

// CHECK: "name": "step"
// CHECK: "moved": [
// CHECK-NEXT: {
// CHECK-NEXT:   "command": "gemm"
// CHECK-NEXT:   "commands": 3
// CHECK-NEXT:   "read": 512
// CHECK-NEXT:   "written": 192
module attributes {weft.phase = "scheduled", weft.flags = [], weft.model = "m.onnx"} {
  rt.program @add routine [1] streams 1 events 0 arena 0 attributes {rt.spec = @add.spec} {
  ^bb0(%x: memref<4x4xf32>, %g: memref<4x4xf32>):
    %row = rt.view %g : memref<4x4xf32> to memref<16xf32>
    %sum = rt.view %row : memref<16xf32> to memref<4x4xf32>
    rt.gemm %x, %x -> %g plus(%sum : memref<4x4xf32>) accumulate f32 stream 0 {rt.origin = 0 : i64} : memref<4x4xf32>, memref<4x4xf32> -> memref<4x4xf32>
  }
  func.func private @add.spec(%x: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.in_place = array<i64: 1>, rt.routine, rt.spec} {
    %0 = rt.fusion library(%x, %g : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {rt.in_place = array<i64: 1>} {
    ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
      %1 = nn.contract %a, %a lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = nn.add %b, %1 : tensor<4x4xf32>
      rt.yield %2 : tensor<4x4xf32>
    }
    return %0 : tensor<4x4xf32>
  }
  rt.program @step streams 1 events 0 arena 512 attributes {rt.spec = @step.spec} {
    %x = rt.buffer "x" input offset 0 lives [0, 2] : memref<4x4xf32>
    rt.input "x" %x global tensor<4x4xf32> placement <[4], [4]> : memref<4x4xf32>
    %g = rt.buffer "g" output offset 256 lives [0, 2] : memref<4x4xf32>
    rt.invoke @add reads(%x, %g : memref<4x4xf32>, memref<4x4xf32>) writes(%g : memref<4x4xf32>) unset [1] stream 0 {rt.origin = 1 : i64}
    rt.invoke @add reads(%x, %g : memref<4x4xf32>, memref<4x4xf32>) writes(%g : memref<4x4xf32>) stream 0 {rt.origin = 2 : i64}
    rt.invoke @add reads(%x, %g : memref<4x4xf32>, memref<4x4xf32>) writes(%g : memref<4x4xf32>) stream 0 {rt.origin = 3 : i64}
    rt.output "g" %g global tensor<4x4xf32> placement <[4], [4]> : memref<4x4xf32>
  }
  func.func private @step.spec(%x: tensor<4x4xf32> {nn.name = "x"}) -> (tensor<4x4xf32> {nn.name = "g"}) attributes {rt.spec} {
    %0 = rt.nothing : tensor<4x4xf32>
    %1 = rt.call @add(%x, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = rt.call @add(%x, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = rt.call @add(%x, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
}
