// RUN: weft-opt %s --dist-separate-gathers --dist-verify-spmd | FileCheck %s

#mesh = #dist.mesh<["dp"=2]>
module attributes {dist.mesh = #mesh} {
// A product that is recomputed for a gradient reads its weight gathered anew, where the first gradient op needs it; the gather
// that gradients have already serves both.
// CHECK-LABEL: func.func @step
// CHECK: %[[FORWARD:.+]] = dist.all_gather %arg1 {{.*}}dist.step_part = "forward"
// CHECK: nn.contract %arg0, %[[FORWARD]]
// CHECK: %[[BACKWARD:.+]] = dist.all_gather %arg1 {{.*}}dist.step_part = "backward"
// CHECK: nn.contract %arg0, %[[BACKWARD]] {{.*}}nn.role
// CHECK-NOT: dist.all_gather
// CHECK: nn.contract %{{.+}}, %[[BACKWARD]] {{.*}}nn.role
func.func @step(%x: tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, %w: tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>)
    -> (tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>) {
  %0 = dist.all_gather %w ["dp"] dim 0 {dist.step_part = "forward"} : tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>> -> tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
  %1 = nn.contract %x, %0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>) -> tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>
  %2 = nn.contract %x, %0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"}
      : (tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>) -> tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>
  %3 = dist.all_gather %w ["dp"] dim 0 {dist.step_part = "backward"} : tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>> -> tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
  %4 = nn.contract %2, %3 lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"}
      : (tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>) -> tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>
  return %1, %4 : tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>
}
}
