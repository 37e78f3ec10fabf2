// RUN: weft-opt %s --rt-order-commands | FileCheck %s

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
!shard = tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>>
module attributes {dist.mesh = #mesh} {

// The first gradient is reduced while the second is made; its update waits
// until the second is sent.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[G1:.+]] = rt.call @grad
// CHECK-NEXT: %[[R1:.+]] = dist.all_reduce %[[G1]]
// CHECK-NEXT: %[[G2:.+]] = rt.call @grad
// CHECK-NEXT: %[[R2:.+]] = dist.all_reduce %[[G2]]
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[R1]])
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[R2]])
// CHECK-NEXT: rt.call @other
func.func @gradients(%w: !whole {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                     %x: !whole {nn.name = "x"}) -> (!whole, !whole {nn.updates = "w"}, !whole {nn.updates = "v"}) {
  %g1 = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %g2 = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %y = rt.call @other(%x) : (!whole) -> !whole
  %r1 = dist.all_reduce %g1 ["dp"] accumulate f32 : !partial -> !whole
  %r2 = dist.all_reduce %g2 ["dp"] accumulate f32 : !partial -> !whole
  %w1 = rt.call @update(%w, %r1) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %v1 = rt.call @update(%v, %r2) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %y, %w1, %v1 : !whole, !whole, !whole
}

// Without a network the update follows its gradient, but comes after the last
// reader of the old value.
// CHECK-LABEL: func.func @frees
// CHECK-SAME: (%[[W:arg[0-9]+]]: tensor<4xf32{{.*}}nn.name = "w"}, %[[V:arg[0-9]+]]: tensor<4xf32
// CHECK: %[[G1:.+]] = rt.call @grad
// CHECK-NEXT: rt.call @update(%[[W]], %[[G1]])
// CHECK-NEXT: %[[G2:.+]] = rt.call @grad
// CHECK-NEXT: rt.call @other(%[[V]])
// CHECK-NEXT: rt.call @update(%[[V]], %[[G2]])
func.func @frees(%w: !whole {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                 %x: !whole {nn.name = "x"}) -> (!whole, !whole {nn.updates = "w"}, !whole {nn.updates = "v"}) {
  %g1 = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !whole
  %g2 = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !whole
  %y = rt.call @other(%v) : (!whole) -> !whole
  %w1 = rt.call @update(%w, %g1) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %v1 = rt.call @update(%v, %g2) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %y, %w1, %v1 : !whole, !whole, !whole
}

// Parameters are gathered one reader ahead.
// CHECK-LABEL: func.func @gathers
// CHECK: %[[A:.+]] = dist.all_gather
// CHECK-NEXT: %[[B:.+]] = dist.all_gather
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[A]])
// CHECK-NEXT: %[[C:.+]] = dist.all_gather
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[B]])
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[C]])
func.func @gathers(%a: !shard {nn.name = "a", nn.initial = 0.0 : f32}, %b: !shard {nn.name = "b", nn.initial = 0.0 : f32},
                   %c: !shard {nn.name = "c", nn.initial = 0.0 : f32}, %x: !whole {nn.name = "x"}) -> !whole {
  %0 = dist.all_gather %a ["dp"] dim 0 : !shard -> !whole
  %1 = rt.call @update(%x, %0) : (!whole, !whole) -> !whole
  %2 = dist.all_gather %b ["dp"] dim 0 : !shard -> !whole
  %3 = rt.call @update(%1, %2) : (!whole, !whole) -> !whole
  %4 = dist.all_gather %c ["dp"] dim 0 : !shard -> !whole
  %5 = rt.call @update(%3, %4) : (!whole, !whole) -> !whole
  return %5 : !whole
}

func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @other(tensor<4xf32>) -> tensor<4xf32>
func.func private @update(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}
