// RUN: weft-opt %s --split-input-file --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages --dist-verify-spmd | FileCheck %s

// Two products, of about equal seconds: the first weight is on the first stage, the second on the second, and
// between them one activation crosses. The scale is made of an input alone, so wherever it is read.
// CHECK: #mesh = #dist.mesh<[stages "pp"=2]>
// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[X:arg0]]: tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>
// CHECK-SAME: %[[W0:arg2]]: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[0]>>
// CHECK-SAME: %[[W1:arg3]]: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[1]>>
func.func @two(%x: tensor<256x1024xf32> {nn.name = "x"}, %s: tensor<256x1024xf32> {nn.name = "s"},
               %w0: tensor<1024x1024xf32> {nn.name = "w0", nn.initial = 0.0 : f32},
               %w1: tensor<1024x1024xf32> {nn.name = "w1", nn.initial = 0.0 : f32}) -> (tensor<256x1024xf32> {nn.name = "y"}) {
  // CHECK: %[[S:.+]] = nn.exp %{{.+}} -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[1]>>
  %0 = nn.exp %s : tensor<256x1024xf32>
  // CHECK: %[[A:.+]] = nn.contract %[[X]], %[[W0]] {{.*}} -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[0]>>
  %1 = nn.contract %x, %w0 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  // CHECK: %[[B:.+]] = dist.reshard %[[A]] {{.*}}held = "pp"[0]>> -> {{.*}}held = "pp"[1]>>
  // CHECK: %[[C:.+]] = nn.contract %[[B]], %[[W1]]
  %2 = nn.contract %1, %w1 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  // CHECK: %[[D:.+]] = nn.mul %[[C]], %[[S]]
  %3 = nn.mul %2, %0 : tensor<256x1024xf32>
  // What a program returns is where it is made.
  // CHECK: return %[[D]] {{.*}}held = "pp"[1]>>
  return %3 : tensor<256x1024xf32>
}

// -----

// A step: gradients take the line back, and every update is where its state is. The tied weight is read on
// both stages, so both hold it; its gradient is added up on the first and goes to both.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: %[[W:arg1]]: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024]>> {nn.initial
// CHECK-SAME: %[[V:arg2]]: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[0]>> {nn.initial
func.func @tied(%x: tensor<256x1024xf32> {nn.name = "x"},
                %w: tensor<1024x1024xf32> {nn.name = "w", nn.initial = 0.0 : f32},
                %v: tensor<1024x1024xf32> {nn.name = "v", nn.initial = 0.0 : f32})
    -> (tensor<1024x1024xf32> {nn.updates = "w"}, tensor<1024x1024xf32> {nn.updates = "v"}) {
  %1 = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %2 = nn.contract %1, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %3 = nn.contract %2, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  %4 = nn.contract %3, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  // The gradient of the last product's weight is made on the last stage, that of its operand goes back from there.
  // CHECK: nn.contract {{.*}}nn.role = "weight_gradient"{{.*}} -> tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[1]>>
  %5 = nn.contract %3, %4 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<256x1024xf32>, tensor<256x1024xf32>) -> tensor<1024x1024xf32>
  // CHECK: nn.contract {{.*}}nn.role = "input_gradient"{{.*}} -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[1]>>
  %6 = nn.contract %4, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
  // CHECK: nn.contract {{.*}}nn.role = "weight_gradient"{{.*}} -> tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[0]>>
  %7 = nn.contract %1, %6 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<256x1024xf32>, tensor<256x1024xf32>) -> tensor<1024x1024xf32>
  // CHECK: %[[SUM:.+]] = nn.add {{.*}} : tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[0]>>
  %8 = nn.add %5, %7 {nn.role = "weight_gradient"} : tensor<1024x1024xf32>
  // CHECK: %[[BOTH:.+]] = dist.reshard %[[SUM]] {{.*}}held = "pp"[0]>> -> tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024]>>
  // CHECK: nn.sub %[[W]], %[[BOTH]] {nn.role = "optimizer"}
  %9 = nn.sub %w, %8 {nn.role = "optimizer"} : tensor<1024x1024xf32>
  // CHECK: nn.sub %[[V]], %{{.+}} {nn.role = "optimizer"}{{.*}}held = "pp"[0]>>
  %10 = nn.sub %v, %7 {nn.role = "optimizer"} : tensor<1024x1024xf32>
  return %9, %10 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
