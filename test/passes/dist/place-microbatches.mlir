// RUN: weft-opt %s --dist-place="rules=^x$=dim0:dp;nodes/exp=dim0:dp;nodes/log=dim1:dp batch-axes=dp" --dist-propagate | FileCheck %s

// A person says of a value which devices have it. Microbatches are parts of what a device has: where the rows of an input
// go, they go, through other placed values, too.
module attributes {dist.mesh = #dist.mesh<["dp"=2, temporal "mb"=2]>} {
// CHECK-LABEL: func @forward
// CHECK-SAME: dist.closed, dist.placement = #dist.placement<#mesh, [8{"dp"}, 4]>, dist.used = #dist.placement<#mesh, [8{"dp","mb"}, 4]>
// CHECK: nn.exp {{.*}}dist.closed, dist.placements = [#dist.placement<#mesh, [8{"dp","mb"}, 4]>]
// CHECK: nn.tanh {{.*}}dist.placements = [#dist.placement<#mesh, [8{"dp","mb"}, 4]>]
// Over other devices than its operand's no rows are the same.
// CHECK: nn.log {{.*}}dist.closed, dist.placements = [#dist.placement<#mesh, [8, 4{"dp"}]>]
func.func @forward(%x: tensor<8x4xf32> {nn.name = "x", nn.dims = ["batch", ""]}) -> (tensor<8x4xf32> {nn.name = "y"}) {
  %0 = nn.exp %x : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("nodes/exp")
  %1 = nn.tanh %0 : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("nodes/tanh")
  %2 = nn.log %1 : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("nodes/log")
  return %2 : tensor<8x4xf32>
}
}
