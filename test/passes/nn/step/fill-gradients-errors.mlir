// RUN: weft-opt %s --step-fill-gradients --split-input-file --verify-diagnostics
// Arguments that stand for gradients say of which results; what they stand for must exist, and not read itself.

// expected-error @below {{nn.gradient of argument 1 names results 5 and 6 of 1}}
func.func @other_results(%x: tensor<4xf32> {nn.name = "x"}, %g: tensor<4xf32> {nn.name = "g", nn.gradient = array<i64: 5, 6>}) -> (tensor<f32> {nn.name = "y"}) {
  %0 = nn.reduce sum %x dims = [0] : tensor<4xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// The value between is no part of the loss any more.
// expected-error @below {{the tensor that it differentiates by became part of a larger operation; differentiate by inputs and initializers}}
func.func @joined(%x: tensor<4xf32> {nn.name = "x"}, %g: tensor<4xf32> {nn.name = "g", nn.gradient = array<i64: 0, 1>})
    -> (tensor<f32> {nn.name = "y"}, tensor<4xf32> {nn.inner}, tensor<4xf32> {nn.name = "z"}) {
  %0 = nn.reduce sum %x dims = [0] : tensor<4xf32> -> tensor<f32>
  %1 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %g : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{a gradient depends on itself}}
func.func @itself(%x: tensor<4xf32> {nn.name = "x"}, %g: tensor<4xf32> {nn.name = "g", nn.gradient = array<i64: 0, 1>})
    -> (tensor<f32> {nn.name = "y"}, tensor<4xf32> {nn.inner}) {
  %0 = nn.mul %x, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.reduce sum %1 dims = [0] : tensor<4xf32> -> tensor<f32>
  return %2, %x : tensor<f32>, tensor<4xf32>
}
