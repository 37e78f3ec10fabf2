// RUN: %doctest %s
// A product may be split on its rows, its columns and the dim that it sums over; of two partial operands only one
// may be.
//--- before
module {
  func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
    // expected-remark @below {{(a)(b), (b)(c) -> (a)(c) {a=4, b=8:sum, c=16}}}
    // expected-remark @below {{partial sum: {0} {1}}}
    %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
}
