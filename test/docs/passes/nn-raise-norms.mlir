// RUN: %doctest %s
// A root mean square over the last dim, and the scale behind it.
//--- before
module {
  func.func @forward(%x: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> {
    %0 = nn.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = nn.reduce sum %0 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
    %n = nn.constant dense<0.125> : tensor<4xf32> : tensor<4xf32>
    %2 = nn.mul %1, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e = nn.constant dense<1.0e-5> : tensor<4xf32> : tensor<4xf32>
    %3 = nn.add %2, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = nn.sqrt %3 : (tensor<4xf32>) -> tensor<4xf32>
    %5 = nn.broadcast %4 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
    %6 = nn.div %x, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %7 = nn.broadcast %g dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
    %8 = nn.mul %6, %7 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %8 : tensor<4x8xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4x8xf32>, %arg1: tensor<8xf32>) -> tensor<4x8xf32> {
    %0 = nn.rms_norm %arg0, %arg1 dim = 1 epsilon = 9.9999997473787499E-6 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
