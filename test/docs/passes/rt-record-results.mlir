// RUN: %doctest %s
// A number for the one result. It would be another if the op, its operands or its types were.
//--- before
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
//--- after
module {
  func.func @forward(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {rt.computes = array<i64: 7284715998500640781>} {
    %0 = nn.exp %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

