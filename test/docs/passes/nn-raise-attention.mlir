// RUN: %doctest %s
// Scaled scores where a constant triangle selects are causal attention; two query heads share a key head that was
// repeated for them.
//--- before
module {
  func.func @causal_grouped(%q: tensor<1x2x3x4xf32>, %k: tensor<1x1x3x4xf32>, %v: tensor<1x1x3x5xf32>) -> tensor<1x2x3x5xf32> {
    %two = nn.constant dense<2.0> : tensor<1x2x3x3xf32> : tensor<1x2x3x3xf32>
    %low = nn.constant dense<-3.4e38> : tensor<1x2x3x3xf32> : tensor<1x2x3x3xf32>
    %triangle = nn.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1> : tensor<3x3xi1>
    %sees = nn.broadcast %triangle dims = [2, 3] : tensor<3x3xi1> -> tensor<1x2x3x3xi1>
    %0 = nn.broadcast %k dims = [0, 1, 3, 4] : tensor<1x1x3x4xf32> -> tensor<1x1x2x3x4xf32>
    %1 = nn.reshape %0 : tensor<1x1x2x3x4xf32> -> tensor<1x2x3x4xf32>
    %2 = nn.broadcast %v dims = [0, 1, 3, 4] : tensor<1x1x3x5xf32> -> tensor<1x1x2x3x5xf32>
    %3 = nn.reshape %2 : tensor<1x1x2x3x5xf32> -> tensor<1x2x3x5xf32>
    %4 = nn.contract %q, %1 lhs = [0, 1, 2, 4] rhs = [0, 1, 3, 4] result = [0, 1, 2, 3] accumulate = f32 : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
    %5 = nn.div %4, %two : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
    %6 = nn.select %sees, %5, %low : (tensor<1x2x3x3xi1>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
    %7 = nn.softmax %6 dim = 3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
    %8 = nn.contract %7, %3 lhs = [0, 1, 2, 3] rhs = [0, 1, 3, 4] result = [0, 1, 2, 4] accumulate = f32 : (tensor<1x2x3x3xf32>, tensor<1x2x3x5xf32>) -> tensor<1x2x3x5xf32>
    return %8 : tensor<1x2x3x5xf32>
  }
}
//--- after
module {
  func.func @causal_grouped(%arg0: tensor<1x2x3x4xf32>, %arg1: tensor<1x1x3x4xf32>, %arg2: tensor<1x1x3x5xf32>) -> tensor<1x2x3x5xf32> {
    %0 = nn.attention %arg0, %arg1, %arg2 scale = 5.000000e-01 {causal} : (tensor<1x2x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x5xf32>) -> tensor<1x2x3x5xf32>
    return %0 : tensor<1x2x3x5xf32>
  }
}
