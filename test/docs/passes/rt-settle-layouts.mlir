// RUN: %doctest %s
// The gradients of the two halves of a row are the row's, without a sum.
//--- before
module {
  func.func @step(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xf32>) -> tensor<2x8xf32> {
    %0 = nn.pad %arg0 low = [0, 0] high = [0, 4] value = 0.000000e+00 : f32 : tensor<2x4xf32> -> tensor<2x8xf32>
    %1 = nn.pad %arg1 low = [0, 4] high = [0, 0] value = 0.000000e+00 : f32 : tensor<2x4xf32> -> tensor<2x8xf32>
    %2 = nn.add %0, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    return %2 : tensor<2x8xf32>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xf32>) -> tensor<2x8xf32> {
    %0 = nn.concat %arg0, %arg1 dim = 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
}
