// RUN: weft-opt %s --split-input-file --nn-verify-program="complete=true placed=true" --verify-diagnostics
// What the attributes of programs hold: passes read them without asking again.

// expected-error @below {{"nn.name" of argument 0 of @f is "", expected a string that is not empty}}
func.func @f(%x: tensor<4xf32> {nn.name = ""}) {
  return
}

// -----

// expected-error @below {{"nn.dims" of argument 0 of @f is [1], expected a list of strings}}
func.func @f(%x: tensor<4xf32> {nn.dims = [1]}) {
  return
}

// -----

// expected-error @below {{"nn.source" of argument 0 of @f is "m.onnx", expected #nn.source with an offset and a length that are not negative}}
func.func @f(%x: tensor<4xf32> {nn.source = "m.onnx"}) {
  return
}

// -----

// expected-error @below {{"nn.source" of argument 0 of @f is #nn.source<file = "m.onnx", offset = -1, length = 16>, expected}}
func.func @f(%x: tensor<4xf32> {nn.source = #nn.source<file = "m.onnx", offset = -1, length = 16>}) {
  return
}

// -----

// expected-error @below {{"nn.source_type" of argument 0 of @f is tensor<4xf32>, expected a type of floats or integers}}
func.func @f(%x: tensor<4xf32> {nn.source_type = tensor<4xf32>}) {
  return
}

// -----

// expected-error @below {{"nn.initial" of argument 0 of @f is unit, expected a number or elements}}
func.func @f(%x: tensor<4xf32> {nn.initial}) {
  return
}

// -----

// expected-error @below {{"nn.class" of argument 0 of @f is "optimiser", expected "optimizer"}}
func.func @f(%x: tensor<4xf32> {nn.class = "optimiser"}) {
  return
}

// -----

// expected-error @below {{"nn.of" of argument 0 of @f is 1 : i64, expected a string that is not empty}}
func.func @f(%x: tensor<4xf32> {nn.of = 1}) {
  return
}

// -----

// expected-error @below {{"nn.statistic" of argument 0 of @f is true, expected a mark without a value}}
func.func @f(%x: tensor<4xf32> {nn.statistic = true}) {
  return
}

// -----

// expected-error @below {{"nn.gradient" of argument 0 of @f is array<i64: 1>, expected array<i64: RESULT, RESULT>}}
func.func @f(%x: tensor<4xf32> {nn.gradient = array<i64: 1>}) {
  return
}

// -----

// expected-error @below {{"nn.nmae" means nothing on argument 0 of @f; known there are nn.name, nn.dims}}
func.func @f(%x: tensor<4xf32> {nn.nmae = "x"}) {
  return
}

// -----

// expected-error @below {{"nn.updates" of result 0 of @f is 1 : i64, expected a string that is not empty}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.updates = 1}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{"nn.source" means nothing on result 0 of @f; known there are nn.name, nn.updates, nn.inner}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.source = 1}) {
  return %x : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{"nn.role" of an op is "gradient", expected "input_gradient", "weight_gradient" or "optimizer"}}
  %0 = nn.exp %x {nn.role = "gradient"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{"nn.recompute" of an op is 1 : i64, expected a mark without a value}}
  %0 = nn.exp %x {nn.recompute = 1} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{"nn.role" means nothing on @f; leave it out}}
func.func @f(%x: tensor<4xf32>) attributes {nn.role = "optimizer"} {
  return
}

// -----

// expected-error @below {{"nn.recompute" means nothing on the module; leave it out}}
module attributes {nn.recompute} {
}

// -----

// An error about a result stands at the value that is returned.
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.name = ""}) {
  // expected-error @below {{"nn.name" of result 0 of @f is "", expected a string that is not empty}}
  %0 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
