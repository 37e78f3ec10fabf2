// RUN: weft-opt %s --dist-read-devices="mesh=pp=2,tp=2 stages=pp" --remarks-filter=".*" 2>&1 | FileCheck %s
// RUN: weft-opt %s --dist-read-devices="mesh=tp=2,pp=2 stages=pp configuration=four" --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: weft-opt %s --dist-read-devices="mesh=dp=2,tp=2" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: weft-opt %s --dist-read-devices="mesh=pp=2 stages=pp configuration=more" 2>&1 | FileCheck %s --check-prefix=MORE

// Stages of nodes are read by their names, those with several outputs among them. At a node of a stage a split names the devices
// of that stage, which are 0 and 1, or 2 and 3, or those of all: what is split over axes of a stage is split over them everywhere.
// CHECK-DAG: split of 'z' is not kept: device 0 is of stage 0, its node of stage 1
// CHECK-DAG: split of 's' is not kept: it splits over 'pp', whose devices are stages of a pipeline
// CHECK-DAG: stages of the nodes named 'twice' are not kept: they differ
// CHECK: dist.devices = {mm = "dim1:tp", w = "dim1:tp"}, dist.node_stages = {mm = 0 : i64, parts = 1 : i64, relu = 1 : i64}

// Where stages are other devices splits are others.
// OTHER-DAG: split of 'w' is not kept: device 1 is of stage 1, its node of stage 0
// OTHER: dist.node_stages = {mm = 0 : i64

// Stages that the mesh has not are not used, and a warning tells of the first.
// NONE: node 'relu' (Relu): warning: device configuration 'four' asks for stage 1 here, but the mesh has no axis of stages: its stages are not used
// NONE-NOT: dist.node_stages
// MORE: warning: device configuration 'more' asks for stage 2 here, but the mesh has 2 stages, from 0 to 1: its stages are not used
// MORE-NOT: dist.node_stages
module attributes {onnx.model = #onnx.model<ir_version = 11 : i64, opset_import = [#onnx.opset<domain = "", version = 17 : i64>],
    configuration = [#onnx.device_configuration<name = "four", num_devices = 4 : i32>, #onnx.device_configuration<name = "more", num_devices = 3 : i32>]>} {
  onnx.graph <name = "main", inputs = [#onnx.value_info<name = "x", type = tensor<2x4xf32>>, #onnx.value_info<name = "w", type = tensor<4x6xf32>>],
      outputs = [#onnx.value_info<name = "p", type = tensor<1x6xf32>>, #onnx.value_info<name = "q", type = tensor<1x6xf32>>]> {
  ^bb0(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>):
    %y = onnx.node "MatMul"(%x, %w) outputs ["y"] name "mm"
      devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "w", device = [0, 1],
          sharded_dim = [#onnx.sharded_dim<axis = 1, factors = [#onnx.sharded_factor<dim = 6 : i64, num_shards = 2 : i64>]>]>,
        #onnx.sharding<tensor_name = "y", device = [-1, -2],
          device_groups = [#onnx.device_group<key = -1, devices = [0, 2]>, #onnx.device_group<key = -2, devices = [1, 3]>],
          sharded_dim = [#onnx.sharded_dim<axis = 1, factors = [#onnx.sharded_factor<dim = 6 : i64, num_shards = 2 : i64>]>]>],
        pipeline_stage = 0 : i32>]
      : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32> loc(#mm)
    %z = onnx.node "Relu"(%y) outputs ["z"] name "relu"
      devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "z", device = [0, 1],
          sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [#onnx.sharded_factor<dim = 2 : i64, num_shards = 2 : i64>]>]>],
        pipeline_stage = 1 : i32>, #onnx.node_devices<configuration_id = "more", pipeline_stage = 2 : i32>]
      : (tensor<2x6xf32>) -> tensor<2x6xf32> loc(#relu)
    %s = onnx.node "Abs"(%z) outputs ["s"] name "twice"
      devices [#onnx.node_devices<configuration_id = "four", sharding_spec = [
        #onnx.sharding<tensor_name = "s", device = [-1, -2],
          device_groups = [#onnx.device_group<key = -1, devices = [0, 1]>, #onnx.device_group<key = -2, devices = [2, 3]>],
          sharded_dim = [#onnx.sharded_dim<axis = 0, factors = [#onnx.sharded_factor<dim = 2 : i64, num_shards = 2 : i64>]>]>],
        pipeline_stage = 0 : i32>] : (tensor<2x6xf32>) -> tensor<2x6xf32> loc(#twice)
    %t = onnx.node "Abs"(%s) outputs ["t"] name "twice" devices [#onnx.node_devices<configuration_id = "four", pipeline_stage = 1 : i32>] : (tensor<2x6xf32>) -> tensor<2x6xf32> loc(#twice)
    %p, %q = onnx.node "Split"(%t) outputs ["p", "q"] name "parts" devices [#onnx.node_devices<configuration_id = "four", pipeline_stage = 1 : i32>] : (tensor<2x6xf32>) -> (tensor<1x6xf32>, tensor<1x6xf32>) loc(#parts)
    onnx.yield %p, %q : tensor<1x6xf32>, tensor<1x6xf32>
  }
}
#mm = loc("mm"("MatMul"))
#relu = loc("relu"("Relu"))
#twice = loc("twice"("Abs"))
#parts = loc("parts"("Split"))
