// RUN: %doctest %s
// The transpose becomes labels of the product, and the factor of one goes.
//--- before
module {
  func.func @forward(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
    %0 = nn.transpose %w permutation = [1, 0] : tensor<16x8xf32> -> tensor<8x16xf32>
    %1 = nn.contract %x, %0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %one = nn.constant dense<1.0> : tensor<4x16xf32> : tensor<4x16xf32>
    %2 = nn.mul %1, %one : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    return %2 : tensor<4x16xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4x8xf32>, %arg1: tensor<16x8xf32>) -> tensor<4x16xf32> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
}
