// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-differentiate))' --allow-unregistered-dialect --split-input-file --verify-diagnostics

// Every op without a gradient that stands between a state and the loss is named, in one go;
// one that stands aside is not.
func.func @every_op(%x: tensor<4xf32> {nn.name = "x"},
    %w: tensor<4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 16>}) -> tensor<4xf32> {
  // expected-error @below {{has no gradient, and values with respect to which the loss is differentiated pass through it}}
  // expected-note @below {{take the op out of the loss, or freeze the parameters in front of it}}
  %0 = "test.first"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{has no gradient, and values with respect to which the loss is differentiated pass through it}}
  // expected-note @below {{take the op out of the loss, or freeze the parameters in front of it}}
  %2 = "test.second"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "test.of_the_input"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "test.of_no_loss"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = nn.mul %2, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 has element type 'i64', but only floats have a gradient}}
func.func @integers(%x: tensor<4xi64> {nn.name = "x"}) -> tensor<4xi64> {
  return %x : tensor<4xi64>
}

// -----

// expected-error @below {{has 0 results, so there is no result 0}}
func.func @nothing() {
  return
}
