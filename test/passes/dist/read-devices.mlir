// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=2,tp=2" --dist-read-devices | FileCheck %s --check-prefix=READ
// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=2,tp=2" --dist-read-devices --convert-onnx-to-nn --dist-place | FileCheck %s
// RUN: weft-opt %s --dist-attach-mesh="mesh=dp=2,tp=2" --dist-read-devices --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK

// Devices 0 and 2 hold the first half of the columns, 1 and 3 the second: that is
// axis tp. What only names devices becomes placements of the weight and the node.
// READ: dist.devices = {mm = "dim0:dp,dim1:tp", w = "dim1:tp"}
// CHECK-LABEL: func.func @forward
// CHECK-SAME: dist.closed, dist.placement = #dist.placement<#mesh, [4, 6{"tp"}]>
// CHECK: nn.contract {{.*}}dist.placements = [#dist.placement<#mesh, [2{"dp"}, 6{"tp"}]>]
// A split that no axes explain is dropped, as is one that only a reader asks for.
// REMARK: split of 'z' is not kept: no axes of the mesh put the shards on those devices
// REMARK: split of 'y' where it is read is not kept: its producer decides
module attributes {onnx.model = #onnx.model<ir_version = 11 : i64, opset_import = [#onnx.opset<domain = "", version = 17 : i64>],
    configuration = [#onnx.device_configuration<name = "four", num_devices = 4 : i32>]>} {
  onnx.graph <name = "main", inputs = [#onnx.value_info<name = "x", type = tensor<2x4xf32>>, #onnx.value_info<name = "w", type = tensor<4x6xf32>>],
      outputs = [#onnx.value_info<name = "z", type = tensor<2x6xf32>>]> {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>):
    %y = onnx.node "MatMul"(%x, %w) outputs ["y"] name "mm"
      devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "w", device = [-1, -2],
          device_groups = [#onnx.device_group<key = -1, devices = [0, 2]>, #onnx.device_group<key = -2, devices = [1, 3]>],
          sharded_dim = [#onnx.sharded_dim<axis = 1, factors = [#onnx.sharded_factor<dim = 6 : i64, num_shards = 2 : i64>]>]>,
        #onnx.sharding<tensor_name = "y", device = [0, 1, 2, 3],
          sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [#onnx.sharded_factor<dim = 2 : i64, num_shards = 2 : i64>]>,
                         #onnx.sharded_dim<axis = 1, factors = [#onnx.sharded_factor<dim = 6 : i64, num_shards = 2 : i64>]>]>]>]
      : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32> loc(#mm)
    %z = onnx.node "Relu"(%y) outputs ["z"] name "relu"
      devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "z", device = [0, 3, 1, 2],
          sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [#onnx.sharded_factor<dim = 2 : i64, num_shards = 4 : i64>]>]>,
        #onnx.sharding<tensor_name = "y", device = [0, 1, 2, 3],
          sharded_dim = [#onnx.sharded_dim<axis = 1, factors = [#onnx.sharded_factor<dim = 6 : i64, num_shards = 4 : i64>]>]>]>]
      : (tensor<2x6xf32>) -> tensor<2x6xf32> loc(#relu)
    onnx.yield %z : tensor<2x6xf32>
  }
}
#mm = loc("mm"("MatMul"))
#relu = loc("relu"("Relu"))
