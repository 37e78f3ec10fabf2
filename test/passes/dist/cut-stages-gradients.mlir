// RUN: weft-opt %s --split-input-file --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards "--dist-cut-stages=stages=second" --dist-verify-spmd | FileCheck %s

// A value crosses the cut, and its gradient crosses back, and nothing else. What is made of activations alone on the way back (%ft, of a value that only
// the first stage has) is where these are, and what reads it comes there; a gradient of weights is where they are, as what it is made of is there anyhow.
// CHECK-LABEL: func.func @line
// CHECK: nn.log {{.*}}held = "pp"[0]>>
// CHECK-NEXT: %[[S:.+]] = dist.reshard {{.*}}held = "pp"[0]>> -> {{.*}}held = "pp"[1]>>
// CHECK-NOT: dist.reshard
// CHECK: nn.mul {{.*}}held = "pp"[1]>>
// CHECK-NOT: dist.reshard
// CHECK: nn.sqrt {{.*}}held = "pp"[0]>>
// CHECK-NEXT: %[[BACK:.+]] = dist.reshard {{.*}}held = "pp"[1]>> -> {{.*}}held = "pp"[0]>>
// CHECK-NEXT: nn.mul %[[BACK]], {{.*}}held = "pp"[0]>>
// CHECK-NEXT: nn.contract {{.*}}held = "pp"[0]>>
// CHECK-NEXT: nn.reduce sum %[[BACK]] {{.*}}held = "pp"[0]>>
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @line(%x: tensor<8x8xf32> {nn.name = "x"}, %v: tensor<8x8xf32> {nn.name = "v", nn.initial = 0.0 : f32}, %b: tensor<8xf32> {nn.name = "b", nn.initial = 0.0 : f32},
                %w: tensor<8x8xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<8x8xf32> {nn.updates = "v"}, tensor<8xf32> {nn.updates = "b"}, tensor<8x8xf32> {nn.updates = "w"}) {
  %h = nn.contract %x, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("first")
  %bb = nn.broadcast %b dims = [1] : tensor<8xf32> -> tensor<8x8xf32>
  %t = nn.add %h, %bb : tensor<8x8xf32>
  %s = nn.log %t : tensor<8x8xf32>
  %y = nn.contract %s, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("second")
  %dw = nn.contract %s, %y lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dy = nn.contract %y, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %fs = nn.abs %s {nn.role = "input_gradient"} : tensor<8x8xf32>
  %ds = nn.mul %dy, %fs {nn.role = "input_gradient"} : tensor<8x8xf32>
  %ft = nn.sqrt %t {nn.role = "input_gradient"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %dt = nn.mul %ds, %ft {nn.role = "input_gradient"} : tensor<8x8xf32>
  %dv = nn.contract %x, %dt lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %db = nn.reduce sum %ds dims = [0] {nn.role = "weight_gradient"} : tensor<8x8xf32> -> tensor<8xf32>
  %v1 = nn.sub %v, %dv {nn.role = "optimizer"} : tensor<8x8xf32>
  %b1 = nn.sub %b, %db {nn.role = "optimizer"} : tensor<8xf32>
  %w1 = nn.sub %w, %dw {nn.role = "optimizer"} : tensor<8x8xf32>
  return %v1, %b1, %w1 : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>
}

// -----

// The first op of the model reads no activation: nothing but its weight says where its gradient is made (%dv). One that is made of two gradients of
// the second stage stays there (%du), as two would cross instead of one.
// CHECK-LABEL: func.func @first
// CHECK: dist.reshard {{.*}}held = "pp"[0]>> -> {{.*}}held = "pp"[1]>>
// CHECK-NOT: dist.reshard
// CHECK: %[[DV:.+]] = dist.reshard {{.*}}held = "pp"[1]>> -> {{.*}}held = "pp"[0]>>
// CHECK-NEXT: nn.contract {{.*}}, %[[DV]] {{.*}}held = "pp"[0]>>
// CHECK-NOT: dist.reshard
// CHECK: %[[DU:.+]] = nn.contract {{.*}}held = "pp"[1]>>
// CHECK-NEXT: %[[SENT:.+]] = dist.reshard %[[DU]] {{.*}}held = "pp"[1]>> -> {{.*}}held = "pp"[0]>>
// CHECK-NOT: dist.reshard
// CHECK: nn.sub {{.*}}, %[[SENT]]
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @first(%x: tensor<8x8xf32> {nn.name = "x"}, %u: tensor<8x8xf32> {nn.name = "u", nn.initial = 0.0 : f32}, %v: tensor<8x8xf32> {nn.name = "v", nn.initial = 0.0 : f32},
                 %w: tensor<8x8xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<8x8xf32> {nn.updates = "u"}, tensor<8x8xf32> {nn.updates = "v"}, tensor<8x8xf32> {nn.updates = "w"}) {
  %uv = nn.add %u, %v : tensor<8x8xf32>
  %h = nn.contract %x, %uv lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("first")
  %y = nn.contract %h, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("second")
  %dw = nn.contract %h, %y lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dh = nn.contract %y, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %more = nn.contract %dh, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %other = nn.contract %more, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %dv = nn.contract %x, %dh lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %du = nn.contract %more, %other lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %u1 = nn.sub %u, %du {nn.role = "optimizer"} : tensor<8x8xf32>
  %v1 = nn.sub %v, %dv {nn.role = "optimizer"} : tensor<8x8xf32>
  %w1 = nn.sub %w, %dw {nn.role = "optimizer"} : tensor<8x8xf32>
  return %u1, %v1, %w1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
