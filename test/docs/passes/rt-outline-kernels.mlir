// RUN: %doctest %s
// The kernel becomes a private function, which equal kernels share.
//--- before
module {
  func.func @forward(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<8x4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 128>}) -> (tensor<4x4xf32> {nn.name = "y"}) {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x8xf32>, %arg3: tensor<8x4xf32>):
      %2 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      rt.yield %2 : tensor<4x4xf32>
    }
    %1 = rt.fusion  kernel(%0 : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x4xf32>):
      %2 = nn.exp %arg2 : tensor<4x4xf32>
      %3 = nn.add %2, %2 : tensor<4x4xf32>
      rt.yield %3 : tensor<4x4xf32>
    }
    return %1 : tensor<4x4xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<8x4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 128>}) -> (tensor<4x4xf32> {nn.name = "y"}) {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x8xf32>, %arg3: tensor<8x4xf32>):
      %2 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      rt.yield %2 : tensor<4x4xf32>
    }
    %1 = rt.call @k_kernel(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func private @k_kernel(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.kernel} {
    %0 = nn.exp %arg0 : tensor<4x4xf32>
    %1 = nn.add %0, %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}
