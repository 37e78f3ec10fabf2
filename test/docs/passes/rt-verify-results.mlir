// RUN: %doctest %s
// The number was written down of another op.
//--- before
// expected-error @below {{result 0 of @forward is not computed as it was before kernels were formed}}
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> attributes {rt.computes = array<i64: 1>} {
  // expected-note @below {{this makes it now}}
  %0 = nn.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
