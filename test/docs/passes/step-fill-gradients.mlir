// RUN: %doctest %s
// The argument that stands for the result of ONNX's `Gradient` is replaced by the gradient of `y` with respect to
// `x`.
//--- before
module {
  func.func @forward(%x: tensor<4xf32> {nn.name = "x"}, %g: tensor<4xf32> {nn.gradient = array<i64: 1, 2>}) -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32>, tensor<4xf32>) {
    %0 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = nn.add %x, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %1, %0, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32>, tensor<4xf32>) {
    %0 = nn.exp %arg0 : tensor<4xf32>
    %1 = nn.constant dense<1.000000e+00> : tensor<4xf32> : tensor<4xf32>
    %2 = nn.mul %1, %0 {nn.role = "weight_gradient"} : tensor<4xf32>
    %3 = nn.add %arg0, %2 : tensor<4xf32>
    return %3, %0, %arg0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
