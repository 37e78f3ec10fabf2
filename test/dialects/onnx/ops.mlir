// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s
// Every op and attribute of the dialect prints in a form that parses to itself.

// CHECK: module attributes {onnx.model = #onnx.model<ir_version = 11 : i64, producer_name = "test"
module attributes {onnx.model = #onnx.model<ir_version = 11 : i64, producer_name = "test", doc_string = "",
    opset_import = [#onnx.opset<domain = "", version = 17 : i64>, #onnx.opset<domain = "local", version = 1 : i64>],
    metadata = [#onnx.entry<key = "k", value = "v">, #onnx.entry<key = "only key">],
    configuration = [#onnx.device_configuration<name = "two", num_devices = 2 : i32, device = ["a", "b"]>]>} {
  // CHECK: onnx.graph <name = "main"
  onnx.graph <name = "main",
      inputs = [#onnx.value_info<name = "x", type = tensor<?x4xf32, #onnx.dims<["batch", unit]>>>, #onnx.value_info<name = "c">],
      outputs = [#onnx.value_info<name = "z", type = !onnx.seq<tensor<*xf32>>>],
      quantization_annotation = [#onnx.quantization<tensor_name = "x", parameters = [#onnx.entry<key = "SCALE_TENSOR", value = "s">]>]> {
  // CHECK: ^bb0(%[[X:.+]]: tensor<?x4xf32, #onnx.dims<["batch", unit]>>, %[[C:.+]]: !onnx.unknown):
  ^bb0(%x: tensor<?x4xf32, #onnx.dims<["batch", unit]>>, %c: !onnx.unknown):
    // CHECK: %[[NONE:.+]] = onnx.none : !onnx.none
    %none = onnx.none : !onnx.none
    // CHECK: %[[W:.+]] = onnx.initializer <type = tensor<2xf32>, name = "w", data = #onnx.bytes<raw "0000803F00000040">> : tensor<2xf32>
    %w = onnx.initializer <type = tensor<2xf32>, name = "w", data = #onnx.bytes<raw "0000803F00000040">> : tensor<2xf32>
    // CHECK: onnx.initializer <type = tensor<1024xi64>, name = "big", data = #onnx.data<int64 "m.onnx" offset 12 length 3000>>
    %big = onnx.initializer <type = tensor<1024xi64>, name = "big", data = #onnx.data<int64 "m.onnx" offset 12 length 3000>> : tensor<1024xi64>
    // CHECK: onnx.initializer <type = tensor<4xf32>, name = "ext", data = #onnx.data<raw "w.bin" offset 0 length 16>, external = [#onnx.entry<key = "location", value = "w.bin">], location = "EXTERNAL">
    %ext = onnx.initializer <type = tensor<4xf32>, name = "ext", data = #onnx.data<raw "w.bin" offset 0 length 16>, external = [#onnx.entry<key = "location", value = "w.bin">], location = "EXTERNAL"> : tensor<4xf32>
    // CHECK: onnx.sparse_initializer <values = #onnx.tensor<{{.*}}>, indices = #onnx.tensor<{{.*}}>, dims = [10]> : !onnx.unknown
    %sp = onnx.sparse_initializer <values = #onnx.tensor<type = tensor<1xf32>, name = "sp", data = #onnx.bytes<float "0000803F">>, indices = #onnx.tensor<type = tensor<1xi64>, data = #onnx.bytes<int64 "0300000000000000">>, dims = [10]> : !onnx.unknown
    // CHECK: %[[Y:.+]] = onnx.node "Clip"(%[[X]], %[[NONE]], %[[C]]) outputs ["y"] name "clip"
    // CHECK-SAME: attributes [#onnx.attr<"a" : INT = 3 : i64>, #onnx.attr<"f" : FLOATS = array<f32: 1.500000e+00, -2.000000e+00>>, #onnx.attr<"r" : FLOAT ref "outer">, #onnx.attr<"u" : (INTS) = array<i64: 1, 2>>, #onnx.attr<"s" : STRING = "\FF" doc "bytes">, #onnx.attr<"d" : INT>, #onnx.attr<"t" : TYPE_PROTO = !onnx.map<i64, tensor<f32>>>]
    // CHECK-SAME: devices [#onnx.node_devices<configuration_id = "two", sharding_spec = [#onnx.sharding<tensor_name = "x", device = [0, -1], device_groups = [#onnx.device_group<key = -1 : i64, devices = [1, 2]>], sharded_dim = [#onnx.sharded_dim<axis = 0 : i64, factors = [#onnx.sharded_factor<dim = "batch", num_shards = 2 : i64>]>]>], pipeline_stage = 0 : i32>]
    %y = onnx.node "Clip"(%x, %none, %c) outputs ["y"] name "clip"
      attributes [#onnx.attr<"a" : INT = 3 : i64>, #onnx.attr<"f" : FLOATS = array<f32: 1.5, -2.0>>, #onnx.attr<"r" : FLOAT ref "outer">,
                  #onnx.attr<"u" : (INTS) = array<i64: 1, 2>>, #onnx.attr<"s" : STRING = "\FF" doc "bytes">, #onnx.attr<"d" : INT>,
                  #onnx.attr<"t" : TYPE_PROTO = !onnx.map<i64, tensor<f32>>>]
      devices [#onnx.node_devices<configuration_id = "two", sharding_spec = [#onnx.sharding<tensor_name = "x", device = [0, -1],
                 device_groups = [#onnx.device_group<key = -1, devices = [1, 2]>],
                 sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [#onnx.sharded_factor<dim = "batch", num_shards = 2 : i64>]>]>],
                 pipeline_stage = 0 : i32>]
      : (tensor<?x4xf32, #onnx.dims<["batch", unit]>>, !onnx.none, !onnx.unknown) -> tensor<?x4xf32>
    // A graph attribute is a region and may read values of the graph around it.
    // CHECK: onnx.node "If" in "local" overload "o"(%[[C]]) outputs ["z", ""]
    // CHECK-SAME: #onnx.attr<"then_branch" : GRAPH = #onnx.graph_info<region = 0 : i64, name = "t", outputs = [#onnx.value_info<name = "y">]>>
    // CHECK: onnx.yield %[[Y]]
    %z, %absent = onnx.node "If" in "local" overload "o"(%c) outputs ["z", ""]
      attributes [#onnx.attr<"then_branch" : GRAPH = #onnx.graph_info<region = 0, name = "t", outputs = [#onnx.value_info<name = "y">]>>]
      metadata [#onnx.entry<key = "a", value = "b">] graphs {
        onnx.yield %y : tensor<?x4xf32>
      } : (!onnx.unknown) -> (!onnx.seq<tensor<*xf32>>, !onnx.none)
    // CHECK: onnx.training_info algorithm <region = 0 : i64, name = "step"
    onnx.training_info algorithm <region = 0, name = "step", outputs = [#onnx.value_info<name = "y">]>
      update [#onnx.entry<key = "w", value = "y">] graphs {
        onnx.yield %y : tensor<?x4xf32>
      }
    onnx.yield %z : !onnx.seq<tensor<*xf32>>
  }
  // CHECK: onnx.function name "F" in "local" inputs ["a"] outputs ["b"] plain_attributes ["alpha"] attributes [#onnx.attr<"beta" : FLOAT = 1.000000e+00 : f32>] opsets [#onnx.opset<domain = "", version = 17 : i64>] body
  onnx.function name "F" in "local" inputs ["a"] outputs ["b"] plain_attributes ["alpha"]
    attributes [#onnx.attr<"beta" : FLOAT = 1.0 : f32>] opsets [#onnx.opset<domain = "", version = 17>] body {
  ^bb0(%a: !onnx.unknown):
    // CHECK: onnx.node "Elu"
    %b = onnx.node "Elu"(%a) outputs ["b"] attributes [#onnx.attr<"alpha" : FLOAT ref "alpha">] : (!onnx.unknown) -> !onnx.unknown
    onnx.yield %b : !onnx.unknown
  }
}
