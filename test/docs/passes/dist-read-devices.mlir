// RUN: %doctest %s
// Devices 0 and 2 hold the first half of the columns of `w`, 1 and 3 the second: that is the axis `tp`.
//--- before
module attributes {dist.mesh = #dist.mesh<["dp"=2, "tp"=2]>, onnx.model = #onnx.model<ir_version = 11 : i64, opset_import = [#onnx.opset<domain = "", version = 17 : i64>], configuration = [#onnx.device_configuration<name = "dp=2,tp=2", num_devices = 4 : i32>]>} {
  onnx.graph <name = "main", inputs = [#onnx.value_info<name = "x", type = tensor<?x4xf32, #onnx.dims<["batch", unit]>>>, #onnx.value_info<name = "w", type = tensor<4x6xf32>>],
      outputs = [#onnx.value_info<name = "y", type = tensor<?x6xf32, #onnx.dims<["batch", unit]>>>]> {
  ^bb0(%x: tensor<?x4xf32, #onnx.dims<["batch", unit]>>, %w: tensor<4x6xf32>):
    %y = onnx.node "MatMul"(%x, %w) outputs ["y"] name "mm"
      devices [#onnx.node_devices<configuration_id = "dp=2,tp=2", sharding_spec = [
        #onnx.sharding<tensor_name = "w", device = [-1, -2],
          device_groups = [#onnx.device_group<key = -1, devices = [0, 2]>, #onnx.device_group<key = -2, devices = [1, 3]>],
          sharded_dim = [#onnx.sharded_dim<axis = 1, factors = [#onnx.sharded_factor<dim = 6 : i64, num_shards = 2 : i64>]>]>]>]
      : (tensor<?x4xf32, #onnx.dims<["batch", unit]>>, tensor<4x6xf32>) -> tensor<?x6xf32, #onnx.dims<["batch", unit]>> loc("mm"("MatMul"))
    onnx.yield %y : tensor<?x6xf32, #onnx.dims<["batch", unit]>>
  }
}
//--- after
#mesh = #dist.mesh<["dp"=2, "tp"=2]>
module attributes {dist.devices = {w = "dim1:tp"}, dist.mesh = #mesh, onnx.model = #onnx.model<ir_version = 11 : i64, opset_import = [#onnx.opset<domain = "", version = 17 : i64>], configuration = [#onnx.device_configuration<name = "dp=2,tp=2", num_devices = 4 : i32>]>} {
  onnx.graph <name = "main", inputs = [#onnx.value_info<name = "x", type = tensor<?x4xf32, #onnx.dims<["batch", unit]>>>, #onnx.value_info<name = "w", type = tensor<4x6xf32>>], outputs = [#onnx.value_info<name = "y", type = tensor<?x6xf32, #onnx.dims<["batch", unit]>>>]> {
  ^bb0(%x: tensor<?x4xf32, #onnx.dims<["batch", unit]>>, %w: tensor<4x6xf32>):
    %y = onnx.node "MatMul"(%x, %w) outputs ["y"] name "mm" devices [#onnx.node_devices<configuration_id = "dp=2,tp=2", sharding_spec = [#onnx.sharding<tensor_name = "w", device = [-1, -2], device_groups = [#onnx.device_group<key = -1 : i64, devices = [0, 2]>, #onnx.device_group<key = -2 : i64, devices = [1, 3]>], sharded_dim = [#onnx.sharded_dim<axis = 1 : i64, factors = [#onnx.sharded_factor<dim = 6 : i64, num_shards = 2 : i64>]>]>]>] : (tensor<?x4xf32, #onnx.dims<["batch", unit]>>, tensor<4x6xf32>) -> tensor<?x6xf32, #onnx.dims<["batch", unit]>>
    onnx.yield %y : tensor<?x6xf32, #onnx.dims<["batch", unit]>>
  }
}
