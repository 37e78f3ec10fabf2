// RUN: %doctest %s
// Two residual blocks and their gradient. The sums behind the blocks are kept; the products and activations
// between them are marked.
// options: mode=full
//--- before
module {
  func.func @step(%x: tensor<4x6xf32> {nn.name = "x"}, %w: tensor<6x6xf32> {nn.name = "w", nn.initial = 1.0 : f32})
      -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %e = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %0 = nn.contract %e, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %1 = nn.tanh %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = nn.add %e, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %3 = nn.contract %2, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %4 = nn.tanh %3 : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = nn.add %2, %4 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %l = nn.exp %5 : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = nn.mul %5, %5 {nn.role = "input_gradient"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %g1 = nn.mul %s, %4 {nn.role = "input_gradient"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %g2 = nn.mul %g1, %1 {nn.role = "input_gradient"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %l, %g2 : tensor<4x6xf32>, tensor<4x6xf32>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<4x6xf32> {nn.name = "x"}, %arg1: tensor<6x6xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %1 = nn.contract %0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.recompute} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %2 = nn.tanh %1 {nn.recompute} : tensor<4x6xf32>
    %3 = nn.add %0, %2 : tensor<4x6xf32>
    %4 = nn.contract %3, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.recompute} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %5 = nn.tanh %4 {nn.recompute} : tensor<4x6xf32>
    %6 = nn.add %3, %5 : tensor<4x6xf32>
    %7 = nn.exp %6 : tensor<4x6xf32>
    %8 = nn.mul %6, %6 {nn.role = "input_gradient"} : tensor<4x6xf32>
    %9 = nn.mul %8, %5 {nn.role = "input_gradient"} : tensor<4x6xf32>
    %10 = nn.mul %9, %2 {nn.role = "input_gradient"} : tensor<4x6xf32>
    return %7, %10 : tensor<4x6xf32>, tensor<4x6xf32>
  }
}
