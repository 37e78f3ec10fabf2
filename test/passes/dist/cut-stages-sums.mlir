// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards "--dist-cut-stages=stages=second" --dist-verify-spmd | FileCheck %s

// Squares of gradients in an order in which stages take turns: each stage adds up its own, in that order, and one sum over stages follows.
// Two of one stage that come first are added up there. What has them all is on all stages.
// CHECK-LABEL: func.func @norm
// CHECK: nn.add {{.*}}held = "pp"[1]>>
// CHECK: %[[OWN:.+]] = nn.add {{.*}} : tensor<f32, #dist.placement<#mesh, [], held = "pp"[1]>>
// CHECK: %[[A:.+]] = dist.reshard %[[OWN]] {{.*}} -> tensor<f32, #dist.placement<#mesh, [], partial = sum["pp"]>>
// CHECK-NEXT: %[[B:.+]] = dist.reshard {{.*}}held = "pp"[0]>> -> tensor<f32, #dist.placement<#mesh, [], partial = sum["pp"]>>
// CHECK-NEXT: %[[AB:.+]] = nn.add %[[A]], %[[B]] {nn.role = "optimizer"} : tensor<f32, #dist.placement<#mesh, [], partial = sum["pp"]>>
// CHECK-NEXT: %[[ABA:.+]] = nn.add %[[AB]], %[[A]] {nn.role = "optimizer"} : tensor<f32, #dist.placement<#mesh, [], partial = sum["pp"]>>
// CHECK-NEXT: %[[ALL:.+]] = dist.reshard %[[ABA]] {{.*}} -> tensor<f32, #dist.placement<#mesh, []>>
// CHECK-NEXT: %[[NORM:.+]] = nn.sqrt %[[ALL]] {nn.role = "optimizer"} : tensor<f32, #dist.placement<#mesh, []>>
// CHECK-NOT: dist.reshard
// CHECK: nn.broadcast %[[NORM]]
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @norm(%x: tensor<8x8xf32> {nn.name = "x"}, %v: tensor<8x8xf32> {nn.name = "v", nn.initial = 0.0 : f32},
                %w: tensor<8x8xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<8x8xf32> {nn.updates = "v"}, tensor<8x8xf32> {nn.updates = "w"}) {
  %first = nn.contract %x, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("first")
  %0 = nn.exp %first : tensor<8x8xf32>
  %1 = nn.contract %0, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("second")
  %dw = nn.contract %0, %1 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d0 = nn.contract %1, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %df = nn.mul %d0, %first {nn.role = "input_gradient"} : tensor<8x8xf32>
  %dv = nn.contract %x, %df lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = nn.reduce sum %dw dims = [0, 1] {nn.role = "optimizer"} : tensor<8x8xf32> -> tensor<f32>
  %b = nn.reduce sum %dv dims = [0, 1] {nn.role = "optimizer"} : tensor<8x8xf32> -> tensor<f32>
  %aa = nn.add %a, %a {nn.role = "optimizer"} : tensor<f32>
  %own = nn.add %aa, %a {nn.role = "optimizer"} : tensor<f32>
  %ab = nn.add %own, %b {nn.role = "optimizer"} : tensor<f32>
  %aba = nn.add %ab, %own {nn.role = "optimizer"} : tensor<f32>
  %norm = nn.sqrt %aba {nn.role = "optimizer"} : (tensor<f32>) -> tensor<f32>
  %factor = nn.broadcast %norm dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<8x8xf32>
  %sv = nn.mul %dv, %factor {nn.role = "optimizer"} : tensor<8x8xf32>
  %sw = nn.mul %dw, %factor {nn.role = "optimizer"} : tensor<8x8xf32>
  %v1 = nn.sub %v, %sv {nn.role = "optimizer"} : tensor<8x8xf32>
  %w1 = nn.sub %w, %sw {nn.role = "optimizer"} : tensor<8x8xf32>
  return %v1, %w1 : tensor<8x8xf32>, tensor<8x8xf32>
}
