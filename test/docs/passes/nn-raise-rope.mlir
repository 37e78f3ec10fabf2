// RUN: %doctest %s
// The halves of `x` are turned by the angles, whose sine and cosine are tables made of one half twice.
//--- before
module {
  func.func @halves(%x: tensor<3x4xf32>, %angle: tensor<3x2xf32>) -> tensor<3x4xf32> {
    %0 = nn.concat %angle, %angle dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
    %1 = nn.cos %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %2 = nn.sin %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %3 = nn.slice %x starts = [0, 0] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32>
    %4 = nn.slice %x starts = [0, 2] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32>
    %5 = nn.negate %4 : (tensor<3x2xf32>) -> tensor<3x2xf32>
    %6 = nn.concat %5, %3 dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
    %7 = nn.mul %x, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %8 = nn.mul %6, %2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %9 = nn.add %7, %8 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    return %9 : tensor<3x4xf32>
  }
}
//--- after
module {
  func.func @halves(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xf32>) -> tensor<3x4xf32> {
    %0 = nn.cos %arg1 : tensor<3x2xf32>
    %1 = nn.sin %arg1 : tensor<3x2xf32>
    %2 = nn.rope %arg0, %0, %1 : (tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
    return %2 : tensor<3x4xf32>
  }
}
