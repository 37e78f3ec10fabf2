// RUN: %doctest %s
// The second kernel reads the first one's result for the last time, at the index that it writes: it overwrites it.
//--- before
module {
  func.func @forward(%arg0: tensor<4x4xf32> {nn.name = "x"}, %arg1: tensor<4x4xf32> {nn.name = "w"}) -> (tensor<4x4xf32> {nn.name = "y"}) {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x4xf32>, %arg3: tensor<4x4xf32>):
      %3 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      rt.yield %3 : tensor<4x4xf32>
    }
    %1 = rt.call @k_exp(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = rt.fusion  library(%1, %arg1 : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x4xf32>, %arg3: tensor<4x4xf32>):
      %3 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      rt.yield %3 : tensor<4x4xf32>
    }
    return %2 : tensor<4x4xf32>
  }
  func.func private @k_exp(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.kernel} {
    %0 = nn.exp %arg0 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4x4xf32> {nn.name = "x"}, %arg1: tensor<4x4xf32> {nn.name = "w"}) -> (tensor<4x4xf32> {nn.name = "y"}) {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x4xf32>, %arg3: tensor<4x4xf32>):
      %3 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      rt.yield %3 : tensor<4x4xf32>
    }
    %1 = rt.call @k_exp(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = rt.fusion  library(%1, %arg1 : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x4xf32>, %arg3: tensor<4x4xf32>):
      %3 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      rt.yield %3 : tensor<4x4xf32>
    }
    return %2 : tensor<4x4xf32>
  }
  func.func private @k_exp(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.in_place = array<i64: 0>, rt.kernel} {
    %0 = nn.exp %arg0 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
