// RUN: %doctest %s
// Computation in bf16: inputs are cast, the weight is converted when it is loaded, sums stay f32, results keep
// their type.
// options: type=bf16
//--- before
module {
  func.func @forward(%x: tensor<4x8xf32> {nn.name = "x"}, %w: tensor<8x3xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 96>})
      -> (tensor<4x3xf32> {nn.name = "y"}) {
    %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = nn.tanh %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<8x3xbf16> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 96>, nn.source_type = f32}) -> (tensor<4x3xf32> {nn.name = "y"}) {
    %0 = nn.cast %arg0 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %1 = nn.contract %0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xbf16>, tensor<8x3xbf16>) -> tensor<4x3xbf16>
    %2 = nn.tanh %1 : tensor<4x3xbf16>
    %3 = nn.cast %2 : (tensor<4x3xbf16>) -> tensor<4x3xf32>
    return %3 : tensor<4x3xf32>
  }
}
