// RUN: weft-opt %s --rt-form-buckets --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// A bucket that an update reads before the next gradient of its kind is there is cut.

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
module attributes {dist.mesh = #mesh} {
// CHECK: remark: [Missed] cut
// CHECK-SAME: travels in a bucket of 16 bytes, not of 32, because 'rt.call' reads of it before the next one is made
// CHECK-NOT: remark: 
func.func @early(%w: !whole {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                 %x: !whole {nn.name = "x"}) -> (!whole {nn.updates = "w"}, !whole {nn.updates = "v"}) {
  %g1 = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %r1 = dist.all_reduce %g1 ["dp"] accumulate f32 : !partial -> !whole
  %w1 = rt.call @update(%w, %r1) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %g2 = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %r2 = dist.all_reduce %g2 ["dp"] accumulate f32 : !partial -> !whole
  %v1 = rt.call @update(%v, %r2) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %w1, %v1 : !whole, !whole
}
func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @update(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}
