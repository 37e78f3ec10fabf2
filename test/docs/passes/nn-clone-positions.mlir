// RUN: %doctest %s
// Two nodes read one mask that is computed from counters; each gets its own, which fusion takes into its kernel.
//--- before
module {
  func.func @masks(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %0 = nn.iota : tensor<4xi64> loc("mask")
    %1 = nn.broadcast %0 dims = [0] : tensor<4xi64> -> tensor<4x4xi64> loc("mask")
    %2 = nn.broadcast %0 dims = [1] : tensor<4xi64> -> tensor<4x4xi64> loc("mask")
    %3 = nn.compare ge %1, %2 : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1> loc("mask")
    %4 = nn.select %3, %x, %y : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer0")
    %5 = nn.select %3, %4, %y : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer0")
    %6 = nn.select %3, %y, %x : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer1")
    return %5, %6 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
//--- after
module {
  func.func @masks(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %0 = nn.iota : tensor<4xi64>
    %1 = nn.broadcast %0 dims = [0] : tensor<4xi64> -> tensor<4x4xi64>
    %2 = nn.broadcast %0 dims = [1] : tensor<4xi64> -> tensor<4x4xi64>
    %3 = nn.compare  ge %1, %2 : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %4 = nn.select %3, %arg0, %arg1 : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = nn.select %3, %4, %arg1 : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = nn.broadcast %0 dims = [0] : tensor<4xi64> -> tensor<4x4xi64>
    %7 = nn.broadcast %0 dims = [1] : tensor<4xi64> -> tensor<4x4xi64>
    %8 = nn.compare  ge %6, %7 : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
    %9 = nn.select %8, %arg1, %arg0 : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %5, %9 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
