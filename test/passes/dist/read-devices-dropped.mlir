// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=2,tp=2" --dist-read-devices --remarks-filter=".*" 2>&1 | FileCheck %s
// A split that the file does not say in full is not kept, and why is told.

// CHECK-DAG: remark: {{.*}}split of 'a' is not kept: its axis counts from the end
// CHECK-DAG: remark: {{.*}}split of 'b' is not kept: two factors of one dim are split
// CHECK-DAG: remark: {{.*}}split of 'c' is not kept: a factor beside the split one has no extent
// CHECK-DAG: remark: {{.*}}split of 'd' is not kept: it names 2 devices, the mesh has 4
// CHECK-DAG: remark: {{.*}}split of 'e' is not kept: some device of the mesh holds nothing
// CHECK-DAG: remark: {{.*}}split of 'f' is not kept: a factor has 0 elements
// CHECK-DAG: remark: {{.*}}split of 'h' is not kept: there is no dim 4294967296
module attributes {onnx.model = #onnx.model<ir_version = 11 : i64, opset_import = [#onnx.opset<domain = "", version = 17 : i64>],
    configuration = [#onnx.device_configuration<name = "four", num_devices = 4 : i32>]>} {
  onnx.graph <name = "main", inputs = [#onnx.value_info<name = "x", type = tensor<4x4xf32>>], outputs = [#onnx.value_info<name = "h", type = tensor<4x4xf32>>]> {
  ^bb0(%x: tensor<4x4xf32>):
    %a = onnx.node "Relu"(%x) outputs ["a"] name "a" devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "a", device = [0, 1, 2, 3], sharded_dim = [#onnx.sharded_dim<axis = -1, factors = [#onnx.sharded_factor<dim = 4 : i64, num_shards = 4 : i64>]>]>]>]
      : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#a)
    %b = onnx.node "Relu"(%a) outputs ["b"] name "b" devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "b", device = [0, 1, 2, 3], sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [
          #onnx.sharded_factor<dim = 2 : i64, num_shards = 2 : i64>, #onnx.sharded_factor<dim = 2 : i64, num_shards = 2 : i64>]>]>]>]
      : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#b)
    %c = onnx.node "Relu"(%b) outputs ["c"] name "c" devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "c", device = [0, 1, 2, 3], sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [
          #onnx.sharded_factor<dim = 4 : i64, num_shards = 4 : i64>, #onnx.sharded_factor<num_shards = 1 : i64>]>]>]>]
      : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#c)
    %d = onnx.node "Relu"(%c) outputs ["d"] name "d" devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "d", device = [0, 1], sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [#onnx.sharded_factor<dim = 4 : i64, num_shards = 2 : i64>]>]>]>]
      : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#d)
    %e = onnx.node "Relu"(%d) outputs ["e"] name "e" devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "e", device = [0, 0, 1, 2], sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [#onnx.sharded_factor<dim = 4 : i64, num_shards = 4 : i64>]>]>]>]
      : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#e)
    %f = onnx.node "Relu"(%e) outputs ["f"] name "f" devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "f", device = [0, 1, 2, 3], sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [
          #onnx.sharded_factor<dim = 0 : i64, num_shards = 1 : i64>, #onnx.sharded_factor<dim = 4 : i64, num_shards = 4 : i64>]>]>]>]
      : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#f)
    %h = onnx.node "Relu"(%f) outputs ["h"] name "h" devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "h", device = [0, 1, 2, 3], sharded_dim = [#onnx.sharded_dim<axis = 4294967296, factors = [#onnx.sharded_factor<dim = 4 : i64, num_shards = 4 : i64>]>]>]>]
      : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#h)
    onnx.yield %h : tensor<4x4xf32>
  }
}
#a = loc("a"("Relu"))
#b = loc("b"("Relu"))
#c = loc("c"("Relu"))
#d = loc("d"("Relu"))
#e = loc("e"("Relu"))
#f = loc("f"("Relu"))
#h = loc("h"("Relu"))
