// RUN: %doctest %s
// The sum over all of a large tensor first adds up rows, which threads can share, then the sums of the rows.
//--- before
module {
  func.func @step(%x: tensor<1024x1024xf32>) -> tensor<f32> {
    %0 = nn.reduce sum %x dims = [0, 1] : tensor<1024x1024xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<1024x1024xf32>) -> tensor<f32> {
    %0 = nn.reshape %arg0 : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
    %1 = nn.reduce  sum %0 dims = [1] : tensor<1024x1024xf32> -> tensor<1024xf32>
    %2 = nn.reduce  sum %1 dims = [0] : tensor<1024xf32> -> tensor<f32>
    return %2 : tensor<f32>
  }
}
