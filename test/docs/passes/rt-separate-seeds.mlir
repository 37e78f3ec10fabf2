// RUN: %doctest %s
// The loss and its gradient both divide by a count. The gradient's is made of ops of its own.
//--- before
module {
  func.func @step(%sum: tensor<f32>, %valid: tensor<8xf32>, %one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = nn.reduce sum %valid dims = [0] : tensor<8xf32> -> tensor<f32>
    %1 = nn.div %sum, %0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = nn.div %one, %0 {nn.role = "input_gradient"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %1, %2 : tensor<f32>, tensor<f32>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<f32>, %arg1: tensor<8xf32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = nn.reduce  sum %arg1 dims = [0] : tensor<8xf32> -> tensor<f32>
    %1 = nn.reduce  sum %arg1 dims = [0] : tensor<8xf32> -> tensor<f32>
    %2 = nn.div %arg0, %0 : tensor<f32>
    %3 = nn.div %arg2, %1 {nn.role = "input_gradient"} : tensor<f32>
    return %2, %3 : tensor<f32>, tensor<f32>
  }
}
