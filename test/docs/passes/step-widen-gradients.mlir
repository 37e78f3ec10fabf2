// RUN: %doctest %s
// The gradient of a weight is added up in f32 anyway, so it is not rounded to bf16 before it is cast to f32.
//--- before
module {
  func.func @step(%x: tensor<4x6xbf16>, %g: tensor<4x8xbf16>) -> tensor<6x8xf32> {
    %0 = nn.contract %x, %g lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"}
        : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
    %1 = nn.cast %0 {nn.role = "weight_gradient"} : (tensor<6x8xbf16>) -> tensor<6x8xf32>
    return %1 : tensor<6x8xf32>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<4x6xbf16>, %arg1: tensor<4x8xbf16>) -> tensor<6x8xf32> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xf32>
    return %0 : tensor<6x8xf32>
  }
}
