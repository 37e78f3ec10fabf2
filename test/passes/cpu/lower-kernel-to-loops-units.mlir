// A unit of work that is no part of the leading dims walks memory as it lies: no element's place is divided anew.
// RUN: weft-opt %s --convert-nn-to-linalg --cse --cpu-lower-kernel-to-loops | FileCheck %s

// 65 units of 4096 elements of 8 x 65 rows of 512.
// CHECK-LABEL: @gelu
// CHECK-NOT: arith.{{div|rem}}
// CHECK: math.erf
// CHECK-NOT: arith.{{div|rem}}
func.func @gelu(%x: tensor<8x65x512xf32>) -> tensor<8x65x512xf32> attributes {rt.kernel} {
  %0 = nn.gelu %x : tensor<8x65x512xf32>
  return %0 : tensor<8x65x512xf32>
}

// 400 units of 4096 elements, 25 for each 128 x 800.
// CHECK-LABEL: @gelu_tanh
// CHECK-NOT: arith.{{div|rem}}
// CHECK: math.tanh
// CHECK-NOT: arith.{{div|rem}}
func.func @gelu_tanh(%x: tensor<16x128x800xf32>) -> tensor<16x128x800xf32> attributes {rt.kernel} {
  %0 = nn.gelu %x {tanh} : tensor<16x128x800xf32>
  return %0 : tensor<16x128x800xf32>
}

// A number that is kept for all elements comes before the tiles of a transpose.
// CHECK-LABEL: @scaled
// CHECK: math.exp
func.func @scaled(%x: tensor<64x96xf32>, %s: tensor<f32>) -> tensor<96x64xf32> attributes {rt.kernel} {
  %e = nn.exp %s : tensor<f32>
  %b = nn.broadcast %e dims = [] : tensor<f32> -> tensor<96x64xf32>
  %t = nn.transpose %x permutation = [1, 0] : tensor<64x96xf32> -> tensor<96x64xf32>
  %y = nn.mul %t, %b : tensor<96x64xf32>
  return %y : tensor<96x64xf32>
}
