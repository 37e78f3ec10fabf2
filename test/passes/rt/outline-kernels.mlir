// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels | FileCheck %s

// Equal fusions of different nodes share one kernel, named after the first;
// another shape is another kernel.
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<8xf32>, %w: tensor<8x8xf32>, %z: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  // CHECK: rt.call @k_layer_0_act
  // CHECK: rt.call @k_layer_0_act
  // CHECK: rt.call @k_other
  %0 = nn.gelu %x : (tensor<8xf32>) -> tensor<8xf32> loc("layer.0/act")
  %1 = nn.contract %0, %w lhs = [0] rhs = [0, 1] result = [1] accumulate = f32 : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  %2 = nn.gelu %1 : (tensor<8xf32>) -> tensor<8xf32> loc("layer.1/act")
  %3 = nn.gelu %z : (tensor<4xf32>) -> tensor<4xf32> loc("other")
  return %2, %3 : tensor<8xf32>, tensor<4xf32>
}

// Calls, fusions of libraries and copies say which action of a pipeline's schedule they are of; kernels do not, and are shared.
// CHECK-LABEL: func.func @actions
func.func @actions(%x: tensor<8xf32>, %w: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[G:.+]] = rt.call @k_layer_0_act(%{{.+}}) {rt.action = "F0.0"}
  // CHECK: rt.fusion library(%[[G]], {{.*}}attributes {rt.action = "F0.0"} {
  // CHECK-NOT: rt.action
  // CHECK: rt.call @k_layer_0_act(%{{.+}}) {rt.action = "F0.1"}
  %0 = nn.gelu %x {rt.action = "F0.0"} : (tensor<8xf32>) -> tensor<8xf32> loc("action")
  %1 = nn.contract %0, %w lhs = [0] rhs = [0, 1] result = [1] accumulate = f32 {rt.action = "F0.0"} : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  %2 = nn.gelu %1 {rt.action = "F0.1"} : (tensor<8xf32>) -> tensor<8xf32> loc("action")
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
// CHECK: func.func private @k_layer_0_act(%{{.+}}: tensor<8xf32>) -> tensor<8xf32> attributes {rt.kernel}
// CHECK: func.func private @k_other(%{{.+}}: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT: func.func
