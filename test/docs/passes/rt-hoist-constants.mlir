// RUN: %doctest %s
// The table that the routine reads is an argument of it, which its caller passes.
//--- before
module {
  func.func private @forward(%arg0: tensor<2xf32>) -> tensor<2xf32> attributes {rt.routine} {
    %0 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
    %1 = rt.call @kernel(%arg0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @kernel(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.func @program(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = rt.call @forward(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
//--- after
module {
  func.func private @forward(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> attributes {rt.routine} {
    %0 = rt.call @kernel(%arg0, %arg1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @kernel(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.func @program(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : tensor<2xf32>
    %1 = rt.call @forward(%arg0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}

