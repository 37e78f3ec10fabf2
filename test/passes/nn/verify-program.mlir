// RUN: weft-opt %s --split-input-file --nn-verify-program --verify-diagnostics
// RUN: weft-opt %s --split-input-file --nn-verify-program | FileCheck %s
// Programs at `graph` that hold all rules. verify-program-errors.mlir has one violation of each.

// State, with an update; a private function, which `step` takes in; a gradient to be computed there.
// CHECK: func.func @forward
func.func @forward(%x: tensor<4xf32> {nn.dims = ["batch"], nn.name = "x"},
                   %w: tensor<4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.onnx", offset = 8, length = 16>},
                   %m: tensor<4xf32> {nn.name = "m", nn.initial = dense<0.0> : tensor<4xf32>, nn.class = "optimizer", nn.of = "w"})
    -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32> {nn.updates = "m"}) {
  %0 = nn.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %m : tensor<4xf32>, tensor<4xf32>
}
// CHECK: func.func private @forward.training
func.func private @forward.training(%x: tensor<4xf32>, %g: tensor<4xf32> {nn.gradient = array<i64: 0, 0>})
    -> (tensor<4xf32> {nn.inner}) {
  return %x : tensor<4xf32>
}

// -----

// Bytes that are not there (weights that were left out), in another type than the program's, and of bools.
// CHECK: func.func @forward
func.func @forward(%a: tensor<4xf32> {nn.name = "a", nn.source = #nn.source<file = "", offset = 0, length = 0>},
                   %b: tensor<4xf32> {nn.name = "b", nn.source_type = bf16, nn.source = #nn.source<file = "m.onnx", offset = 0, length = 8>},
                   %c: tensor<4xi1> {nn.name = "c", nn.source = #nn.source<file = "m.onnx", offset = 0, length = 4>}) {
  return
}
