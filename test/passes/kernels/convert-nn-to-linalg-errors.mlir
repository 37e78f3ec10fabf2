// RUN: weft-opt %s --convert-nn-to-linalg --split-input-file --verify-diagnostics

// An op without a body is named.
func.func @foreign(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'math.exp' op gives no body for a kernel}}
  %r = math.exp %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Kernels compute tensors of known shape.
// expected-error @below {{arguments and results of a kernel are tensors of static shape}}
func.func @dynamic(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// -----

// A kernel is one list of ops.
// expected-error @below {{a kernel has one block}}
func.func @branches(%a: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %a : tensor<4xf32>
}
