// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards "--dist-cut-stages=stages=second" --dist-verify-spmd | FileCheck %s

// The norm of all gradients that nothing but the caller wants to know: squares are added in the order of stages, whatever the program's is,
// so that one number goes to the next stage, and the last one tells it. No stage waits for a later one, nor for the loss.
// CHECK-LABEL: func.func @told
// CHECK-DAG: %[[A:.+]] = nn.reduce sum {{.*}} dims = [0, 1] {nn.role = "optimizer"} {{.*}}held = "pp"[1]>> -> tensor<f32, #dist.placement<#mesh, [], held = "pp"[1]>>
// CHECK-DAG: %[[B:.+]] = nn.reduce sum {{.*}} dims = [0, 1] {nn.role = "optimizer"} {{.*}}held = "pp"[0]>> -> tensor<f32, #dist.placement<#mesh, [], held = "pp"[0]>>
// CHECK: %[[BB:.+]] = nn.add %[[B]], %[[B]] {nn.role = "optimizer"} : tensor<f32, #dist.placement<#mesh, [], held = "pp"[0]>>
// CHECK-NEXT: %[[SENT:.+]] = dist.reshard %[[BB]] {{.*}}held = "pp"[0]>> -> tensor<f32, #dist.placement<#mesh, []>>
// CHECK-NEXT: %[[BBA:.+]] = nn.add %[[SENT]], %[[A]]
// CHECK-NEXT: %[[ALL:.+]] = nn.add %[[BBA]], %[[A]]
// CHECK-NEXT: %[[NORM:.+]] = nn.sqrt %[[ALL]] {nn.role = "optimizer"} : tensor<f32, #dist.placement<#mesh, [], held = "pp"[1]>>
// CHECK-NOT: dist.reshard
// CHECK: return %{{.*}}, %[[NORM]], %{{.*}}, %{{.*}} : tensor<f32, #dist.placement<#mesh, [], held = "pp"[1]>>, tensor<f32, #dist.placement<#mesh, [], held = "pp"[1]>>,
func.func @told(%x: tensor<8x8xf32> {nn.name = "x"}, %v: tensor<8x8xf32> {nn.name = "v", nn.initial = 0.0 : f32},
                %w: tensor<8x8xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<f32> {nn.name = "loss"}, tensor<f32> {nn.name = "norm"}, tensor<8x8xf32> {nn.updates = "v"}, tensor<8x8xf32> {nn.updates = "w"}) {
  %first = nn.contract %x, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("first")
  %0 = nn.exp %first : tensor<8x8xf32>
  %1 = nn.contract %0, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("second")
  %loss = nn.reduce sum %1 dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %dw = nn.contract %0, %1 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d0 = nn.contract %1, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %df = nn.mul %d0, %first {nn.role = "input_gradient"} : tensor<8x8xf32>
  %dv = nn.contract %x, %df lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = nn.reduce sum %dw dims = [0, 1] {nn.role = "optimizer"} : tensor<8x8xf32> -> tensor<f32>
  %b = nn.reduce sum %dv dims = [0, 1] {nn.role = "optimizer"} : tensor<8x8xf32> -> tensor<f32>
  %ab = nn.add %a, %b {nn.role = "optimizer"} : tensor<f32>
  %aba = nn.add %ab, %a {nn.role = "optimizer"} : tensor<f32>
  %abab = nn.add %aba, %b {nn.role = "optimizer"} : tensor<f32>
  %norm = nn.sqrt %abab {nn.role = "optimizer"} : (tensor<f32>) -> tensor<f32>
  %v1 = nn.sub %v, %dv {nn.role = "optimizer"} : tensor<8x8xf32>
  %w1 = nn.sub %w, %dw {nn.role = "optimizer"} : tensor<8x8xf32>
  return %loss, %norm, %v1, %w1 : tensor<f32>, tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>
}
