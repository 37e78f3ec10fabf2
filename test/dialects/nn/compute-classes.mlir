// RUN: weft-opt %s --nn-print-factor-rules 2>&1 | FileCheck %s
// What sort of work each op is: derived from factors and flops, or, of products and attention, said by the op.

func.func @classes(%x: tensor<2x4xf32>, %y: tensor<4x2xf32>, %v: tensor<4xf32>, %i: tensor<3xi64>,
                   %q: tensor<1x2x8x4xf32>, %image: tensor<1x2x8x8xf32>, %filter: tensor<3x2x3x3xf32>) {
  // CHECK: remark: {{.*}}, move
  %0 = nn.transpose %x permutation = [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  // CHECK: remark: {{.*}}, move
  %1 = nn.reshape %x : tensor<2x4xf32> -> tensor<8xf32>
  // CHECK: remark: {{.*}}, elementwise
  %2 = nn.add %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: remark: {{.*}}, reduction
  %3 = nn.reduce sum %x dims = [1] : tensor<2x4xf32> -> tensor<2xf32>
  // CHECK: remark: {{.*}}, reduction
  %4 = nn.softmax %x dim = 1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: remark: {{.*}}, contraction
  %5 = nn.contract %x, %y lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  // An outer product sums nothing.
  // CHECK: remark: {{.*}}, elementwise
  %6 = nn.contract %v, %v lhs = [0] rhs = [1] result = [0, 1] accumulate = f32 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  // CHECK: remark: {{.*}}, contraction
  %7 = nn.conv %image, %filter {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, filter_dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32>
  // CHECK: remark: {{.*}}, attention
  %8 = nn.attention %q, %q, %q scale = 0.5 : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  return
}
