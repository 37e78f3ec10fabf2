// RUN: weft-opt %s --pass-pipeline="builtin.module(func.func(convert-nn-to-linalg),cpu-lower-kernel-to-loops{stack-limit=1024})" --split-input-file --verify-diagnostics

// A scan keeps its whole row, and a row that something else reads backward
// cannot be computed again in place.
// expected-error @below {{temporaries of the fused ops need more than 1024 bytes of stack in every way to cut the kernel}}
func.func @row(%a: tensor<4x4096xf32>) -> tensor<4x4096xf32> {
  %b = nn.scan sum %a dim = 1 : tensor<4x4096xf32> -> tensor<4x4096xf32>
  %r = nn.reverse %b dims = [1] : tensor<4x4096xf32> -> tensor<4x4096xf32>
  return %r : tensor<4x4096xf32>
}
