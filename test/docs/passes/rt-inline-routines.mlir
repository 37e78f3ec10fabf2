// RUN: %doctest %s
// A call becomes the ops of the routine that it calls.
//--- before
module {
  func.func private @forward(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {rt.routine} {
    %0 = nn.exp %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @program(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = rt.call @forward(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = rt.call @forward(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
//--- after
module {
  func.func @program(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = nn.exp %arg0 : tensor<8xf32>
    %1 = nn.exp %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

