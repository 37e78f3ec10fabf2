// RUN: %doctest %s
// The program also returns the gradient of the sum of its result with respect to its one state. The input has
// none.
//--- before
module {
  func.func @forward(%x: tensor<4x8xf32> {nn.name = "x"}, %w: tensor<8x3xf32> {nn.name = "w", nn.initial = 1.0 : f32})
      -> (tensor<4x3xf32> {nn.name = "y"}) {
    %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = nn.tanh %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<8x3xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w"}) -> (tensor<4x3xf32> {nn.name = "y"}, tensor<8x3xf32> {nn.name = "w"}) {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = nn.tanh %0 : tensor<4x3xf32>
    %2 = nn.constant dense<1.000000e+00> : tensor<4x3xf32> : tensor<4x3xf32>
    %3 = nn.mul %1, %1 {nn.role = "input_gradient"} : tensor<4x3xf32>
    %4 = nn.constant {nn.role = "input_gradient"} dense<1.000000e+00> : tensor<4x3xf32> : tensor<4x3xf32>
    %5 = nn.sub %4, %3 {nn.role = "input_gradient"} : tensor<4x3xf32>
    %6 = nn.mul %2, %5 {nn.role = "input_gradient"} : tensor<4x3xf32>
    %7 = nn.contract %6, %arg0 lhs = [0, 2] rhs = [0, 1] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<4x3xf32>, tensor<4x8xf32>) -> tensor<8x3xf32>
    return %1, %7 : tensor<4x3xf32>, tensor<8x3xf32>
  }
}
