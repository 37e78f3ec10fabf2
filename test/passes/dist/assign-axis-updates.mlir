// The new value of state lies as the state does: split with it where one op reads it, whole where several do, or none, which would leave the two to differ.
// RUN: weft-opt %s --pass-pipeline="builtin.module(dist-attach-mesh{mesh=tp=2},dist-place,dist-propagate,func.func(dist-assign-axis{axis=tp}))" | FileCheck %s

// CHECK: #dist.placement<#mesh, [64{"tp"}]>, nn.initial = {{[^ ]+}} : f32, nn.name = "mean"
// CHECK-SAME: #dist.placement<#mesh, [64]>, nn.initial = {{[^ ]+}} : f32, nn.name = "twice"
// CHECK-SAME: #dist.placement<#mesh, [64]>, nn.initial = {{[^ ]+}} : f32, nn.name = "unread"
// CHECK: nn.add {{.*}} dist.placements = [#dist.placement<#mesh, [64{"tp"}]>]
// CHECK: nn.mul {{.*}} dist.placements = [#dist.placement<#mesh, [64]>]
// CHECK: nn.exp {{.*}} dist.placements = [#dist.placement<#mesh, [64]>]
func.func @step(%x: tensor<64xf32> {nn.name = "x"},
    %mean: tensor<64xf32> {nn.name = "mean", nn.initial = 0.0 : f32},
    %twice: tensor<64xf32> {nn.name = "twice", nn.initial = 0.0 : f32},
    %unread: tensor<64xf32> {nn.name = "unread", nn.initial = 0.0 : f32})
    -> (tensor<64xf32> {nn.updates = "mean"}, tensor<64xf32> {nn.updates = "twice"}, tensor<64xf32> {nn.updates = "unread"}) {
  %0 = nn.tanh %x : (tensor<64xf32>) -> tensor<64xf32>
  %1 = nn.add %mean, %0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = nn.mul %twice, %twice : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = nn.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  return %1, %2, %3 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
