// RUN: %doctest %s
// SiLU, spelled `x / (1 + exp(-x))`.
//--- before
module {
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %one = nn.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
    %0 = nn.negate %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = nn.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
    %2 = nn.add %1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = nn.div %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = nn.silu %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
