// RUN: %doctest %s
// Three residual blocks behind an embedding: two are left, and no weight of the third.
// options: keep=2
//--- before
module {
  func.func @forward(%x: tensor<4x6xf32> {nn.name = "x"}, %e: tensor<6x6xf32> {nn.name = "embed", nn.initial = 1.0 : f32},
      %w1: tensor<6x6xf32> {nn.name = "w1", nn.initial = 1.0 : f32}, %w2: tensor<6x6xf32> {nn.name = "w2", nn.initial = 1.0 : f32},
      %w3: tensor<6x6xf32> {nn.name = "w3", nn.initial = 1.0 : f32}) -> tensor<4x6xf32> {
    %0 = nn.contract %x, %e lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %1 = nn.contract %0, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %2 = nn.add %0, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %3 = nn.contract %2, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %4 = nn.add %2, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = nn.contract %4, %w3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %6 = nn.add %4, %5 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %7 = nn.exp %6 : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %7 : tensor<4x6xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4x6xf32> {nn.name = "x"}, %arg1: tensor<6x6xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "embed"}, %arg2: tensor<6x6xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w1"}, %arg3: tensor<6x6xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w2"}) -> tensor<4x6xf32> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %1 = nn.contract %0, %arg2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %2 = nn.add %0, %1 : tensor<4x6xf32>
    %3 = nn.contract %2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %4 = nn.add %2, %3 : tensor<4x6xf32>
    %5 = nn.exp %4 : tensor<4x6xf32>
    return %5 : tensor<4x6xf32>
  }
}

