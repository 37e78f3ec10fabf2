// RUN: weft-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -o /dev/null
// Each case breaks one rule that a verifier or parser of the dialect states.

// expected-error @below {{'onnx.model' belongs on a builtin.module and is an #onnx.model}}
module attributes {onnx.model = 3} {}

// -----
// expected-error @below {{has unknown attribute 'onnx.other'}}
module attributes {onnx.other = 3} {}

// -----
// expected-error @below {{declares 0 inputs, but the block has 1 arguments}}
onnx.graph <name = "g"> {
^bb0(%x: tensor<f32>):
  onnx.yield
}

// -----
// expected-error @below {{input 0 ('x') is declared 'tensor<2xf32>', but the block argument has type 'tensor<3xf32>'}}
onnx.graph <name = "g", inputs = [#onnx.value_info<name = "x", type = tensor<2xf32>>]> {
^bb0(%x: tensor<3xf32>):
  onnx.yield
}

// -----
// expected-error @below {{declares 1 outputs, but 'onnx.yield' returns 0}}
onnx.graph <outputs = [#onnx.value_info<name = "y">]> {
  onnx.yield
}

// -----
// expected-error @below {{region must end in 'onnx.yield'}}
onnx.graph <name = "g"> {
  "unregistered.end"() : () -> ()
}

// -----
onnx.graph <name = "g"> {
  // expected-error @below {{has 1 results, but 2 output names}}
  %0 = onnx.node "Op"() outputs ["a", "b"] : () -> !onnx.unknown
  onnx.yield
}

// -----
onnx.graph <name = "g"> {
  // expected-error @below {{expected an #onnx.attr, found 3}}
  %0 = onnx.node "Op"() outputs ["a"] attributes [3] : () -> !onnx.unknown
  onnx.yield
}

// -----
onnx.graph <name = "g"> {
  // expected-error @below {{a graph attribute refers to no region}}
  %0 = onnx.node "Op"() outputs ["a"] attributes [#onnx.attr<"g" : GRAPH = #onnx.graph_info<region = 0>>] : () -> !onnx.unknown
  onnx.yield
}

// -----
onnx.graph <name = "g"> {
  // expected-error @below {{region 0 belongs to no graph}}
  %0 = onnx.node "Op"() outputs ["a"] graphs { onnx.yield } : () -> !onnx.unknown
  onnx.yield
}

// -----
onnx.graph <name = "g"> {
  // expected-error @below {{has type 'tensor<2xf32>', but its value has type 'tensor<1xf32>'}}
  %w = onnx.initializer <type = tensor<1xf32>> : tensor<2xf32>
  onnx.yield
}

// -----
// expected-error @below {{declares 1 inputs, but the block has 0 arguments}}
onnx.function name "F" inputs ["x"] outputs [] body {
  onnx.yield
}

// -----
// expected-error @below {{expected pairs of hexadecimal digits}}
module attributes {a.b = #onnx.bytes<raw "0">} {}

// -----
// expected-error @below {{offset and length must not be negative}}
module attributes {a.b = #onnx.data<raw "f" offset -1 length 0>} {}

// -----
// expected-error @below {{expected raw, float, int32, int64, double or uint64}}
module attributes {a.b = #onnx.bytes<half "00">} {}

// -----
// expected-error @below {{unknown attribute kind 'REAL'}}
module attributes {a.b = #onnx.attr<"x" : REAL>} {}

// -----
// expected-error @below {{input 0 is not an #onnx.value_info}}
onnx.graph <name = "g", inputs = [3]> {
^bb0(%x: tensor<f32>):
  onnx.yield
}

// -----
onnx.graph <name = "g"> {
  // expected-error @below {{region 0 belongs to two graphs}}
  %0 = onnx.node "Op"() outputs ["a"] attributes [#onnx.attr<"g" : GRAPH = #onnx.graph_info<region = 0>>, #onnx.attr<"h" : GRAPH = #onnx.graph_info<region = 0>>]
    graphs { onnx.yield } : () -> !onnx.unknown
  onnx.yield
}

// -----
onnx.graph <name = "g"> {
  // expected-error @below {{expected an output name, found 3}}
  %0 = onnx.node "Op"() outputs [3] : () -> !onnx.unknown
  onnx.yield
}
