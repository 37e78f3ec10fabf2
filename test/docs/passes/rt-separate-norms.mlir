// RUN: %doctest %s
// The square of a gradient, for its norm, and its update both widen the gradient: each for itself, so that nothing wide
// is kept until the norm is known.
//--- before
module {
  func.func @step(%g: tensor<8xbf16>, %w: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
    %0 = nn.cast %g {nn.role = "optimizer"} : (tensor<8xbf16>) -> tensor<8xf32>
    %1 = nn.mul %0, %0 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %2 = nn.reduce sum %1 dims = [0] {nn.role = "optimizer"} : tensor<8xf32> -> tensor<f32>
    %3 = nn.sub %w, %0 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %2, %3 : tensor<f32>, tensor<8xf32>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<8xbf16>, %arg1: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
    %0 = nn.cast %arg0 {nn.role = "optimizer"} : (tensor<8xbf16>) -> tensor<8xf32>
    %1 = nn.mul %0, %0 {nn.role = "optimizer"} : tensor<8xf32>
    %2 = nn.reduce  sum %1 dims = [0] {nn.role = "optimizer"} : tensor<8xf32> -> tensor<f32>
    %3 = nn.cast %arg0 {nn.role = "optimizer"} : (tensor<8xbf16>) -> tensor<8xf32>
    %4 = nn.sub %arg1, %3 {nn.role = "optimizer"} : tensor<8xf32>
    return %2, %4 : tensor<f32>, tensor<8xf32>
  }
}

