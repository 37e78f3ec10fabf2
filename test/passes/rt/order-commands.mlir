// RUN: weft-opt %s --split-input-file --rt-order-commands | FileCheck %s

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
!shard = tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>>
!large = tensor<16xf32, #dist.local<#mesh, [16]>>
!large_shard = tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
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

// What calls gather themselves is whole beside that, so that small lots are one reader ahead there, as well, although four of them
// were no more than two of the largest lot.
// CHECK-LABEL: func.func @within
// CHECK: %[[LARGE:.+]] = dist.all_gather {{.*}} -> tensor<16xf32
// CHECK-NEXT: %[[A:.+]] = dist.all_gather
// CHECK-NEXT: %[[X:.+]] = rt.call @first(%[[LARGE]])
// CHECK-NEXT: %[[B:.+]] = dist.all_gather
// CHECK-NEXT: rt.call @block(%[[X]], %[[A]],
// CHECK-NEXT: %[[C:.+]] = dist.all_gather
// CHECK-NEXT: rt.call @block(%{{.+}}, %[[B]],
// CHECK-NEXT: rt.call @block(%{{.+}}, %[[C]],
func.func @within(%large: !large_shard {nn.name = "large", nn.initial = 0.0 : f32}, %a: !shard {nn.name = "a", nn.initial = 0.0 : f32},
                  %b: !shard {nn.name = "b", nn.initial = 0.0 : f32}, %c: !shard {nn.name = "c", nn.initial = 0.0 : f32}) -> !whole {
  %0 = dist.all_gather %large ["dp"] dim 0 : !large_shard -> !large
  %1 = rt.call @first(%0) : (!large) -> !whole
  %2 = dist.all_gather %a ["dp"] dim 0 : !shard -> !whole
  %3 = rt.call @block(%1, %2, %large) : (!whole, !whole, !large_shard) -> !whole
  %4 = dist.all_gather %b ["dp"] dim 0 : !shard -> !whole
  %5 = rt.call @block(%3, %4, %large) : (!whole, !whole, !large_shard) -> !whole
  %6 = dist.all_gather %c ["dp"] dim 0 : !shard -> !whole
  %7 = rt.call @block(%5, %6, %large) : (!whole, !whole, !large_shard) -> !whole
  return %7 : !whole
}
func.func private @first(%x: tensor<16xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.slice %x starts = [0] strides = [1] : tensor<16xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @block(%x: !whole, %w: !whole, %own: !large_shard) -> !whole attributes {rt.routine} {
  %0 = rt.call @update(%x, %w) : (!whole, !whole) -> !whole
  %1 = dist.all_gather %own ["dp"] dim 0 : !large_shard -> !large
  %2 = rt.call @first(%1) : (!large) -> !whole
  %3 = rt.call @update(%0, %2) : (!whole, !whole) -> !whole
  return %3 : !whole
}

// Buckets are ordered like what is in them: gathers one reader ahead of the first reader of any, sums
// right behind the last that they add up, updates when the next sums are sent.
// CHECK-LABEL: func.func @buckets
// CHECK-SAME: (%[[A:arg[0-9]+]]: {{.*}}"a"}, %[[B:arg[0-9]+]]: {{.*}}"b"}, %[[C:arg[0-9]+]]: {{.*}}"c"}, %[[D:arg[0-9]+]]: {{.*}}"d"}, %[[W:arg[0-9]+]]: {{.*}}"w"}, %[[V:arg[0-9]+]]: {{.*}}"v"}
// CHECK: %[[AB:.+]]:2 = rt.bucket(%[[A]], %[[B]] :
// CHECK: %[[CD:.+]]:2 = rt.bucket(%[[C]], %[[D]] :
// CHECK: rt.call @update(%{{.+}}, %[[AB]]#0)
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[AB]]#1)
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[CD]]#0)
// CHECK-NEXT: %[[LAST:.+]] = rt.call @update(%{{.+}}, %[[CD]]#1)
// CHECK-NEXT: %[[G1:.+]] = rt.call @grad(%[[LAST]])
// CHECK-NEXT: %[[G2:.+]] = rt.call @grad(%[[LAST]])
// CHECK-NEXT: %[[R:.+]]:2 = rt.bucket(%[[G1]], %[[G2]] :
// CHECK: rt.call @update(%[[W]], %[[R]]#0)
// CHECK-NEXT: rt.call @update(%[[V]], %[[R]]#1)
// CHECK-NEXT: rt.call @other
func.func @buckets(%a: !shard {nn.name = "a", nn.initial = 0.0 : f32}, %b: !shard {nn.name = "b", nn.initial = 0.0 : f32},
                   %c: !shard {nn.name = "c", nn.initial = 0.0 : f32}, %d: !shard {nn.name = "d", nn.initial = 0.0 : f32},
                   %w: !whole {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                   %x: !whole {nn.name = "x"}) -> (!whole, !whole {nn.updates = "w"}, !whole {nn.updates = "v"}) {
  %0:2 = rt.bucket(%a, %b : !shard, !shard) -> (!whole, !whole) {
  ^bb0(%p: !shard, %q: !shard):
    %6 = dist.all_gather %p ["dp"] dim 0 : !shard -> !whole
    %7 = dist.all_gather %q ["dp"] dim 0 : !shard -> !whole
    rt.yield %6, %7 : !whole, !whole
  }
  %1 = rt.call @update(%x, %0#0) : (!whole, !whole) -> !whole
  %2 = rt.call @update(%1, %0#1) : (!whole, !whole) -> !whole
  %3:2 = rt.bucket(%c, %d : !shard, !shard) -> (!whole, !whole) {
  ^bb0(%p: !shard, %q: !shard):
    %6 = dist.all_gather %p ["dp"] dim 0 : !shard -> !whole
    %7 = dist.all_gather %q ["dp"] dim 0 : !shard -> !whole
    rt.yield %6, %7 : !whole, !whole
  }
  %4 = rt.call @update(%2, %3#0) : (!whole, !whole) -> !whole
  %5 = rt.call @update(%4, %3#1) : (!whole, !whole) -> !whole
  %g1 = rt.call @grad(%5) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %g2 = rt.call @grad(%5) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %y = rt.call @other(%5) : (!whole) -> !whole
  %r:2 = rt.bucket(%g1, %g2 : !partial, !partial) -> (!whole, !whole) {
  ^bb0(%p: !partial, %q: !partial):
    %6 = dist.all_reduce %p ["dp"] accumulate f32 : !partial -> !whole
    %7 = dist.all_reduce %q ["dp"] accumulate f32 : !partial -> !whole
    rt.yield %6, %7 : !whole, !whole
  }
  %w1 = rt.call @update(%w, %r#0) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %v1 = rt.call @update(%v, %r#1) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %y, %w1, %v1 : !whole, !whole, !whole
}

func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @other(tensor<4xf32>) -> tensor<4xf32>
func.func private @update(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}

// -----

// What crosses stages of a pipeline keeps its order, which is that of all stages: a sum of gradients and a gradient that
// is sent do not go forward as updates do, what is received not back to its reader. What is sent once a step, and what is
// received for an update, is so behind what crosses before, while the stage still computes.
#mesh = #dist.mesh<[stages "pp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["pp"]>>
module attributes {dist.mesh = #mesh, weft.stage = 0 : i64} {
// CHECK-LABEL: func.func @crossing
// CHECK: rt.call @grad
// CHECK: dist.receive from 1 on "a"
// CHECK-NEXT: dist.send {{.*}} on "b"
// CHECK-NEXT: rt.call @other
// CHECK: dist.all_reduce
// CHECK-NEXT: dist.receive from 1 on "c"
// CHECK: rt.call @update
// CHECK: rt.call @other
// CHECK: rt.call @update
func.func @crossing(%w: !whole {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                    %x: !whole {nn.name = "x"}) -> (!whole, !whole {nn.updates = "w"}, !whole {nn.updates = "v"}) {
  %g = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %u = rt.call @update(%x, %x) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %a = dist.receive from 1 on "a" : !whole
  %y = rt.call @other(%a) : (!whole) -> !whole
  dist.send %u to 1 on "b" : !whole
  %s = dist.all_reduce %g ["pp"] accumulate f32 : !partial -> !whole
  %z = rt.call @other(%y) : (!whole) -> !whole
  %c = dist.receive from 1 on "c" : !whole
  %w1 = rt.call @update(%w, %c) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %v1 = rt.call @update(%v, %s) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %z, %w1, %v1 : !whole, !whole, !whole
}
func.func private @grad(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %x : tensor<4xf32>
}
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %x : tensor<4xf32>
}
func.func private @update(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

// A sum over microbatches that another stage awaits goes as soon as it is there, what comes of it is awaited from then on, and
// gradients that were put off are made beside both. What an action sends stays in it.
#mesh = #dist.mesh<[stages "pp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
module attributes {dist.mesh = #mesh, weft.stage = 1 : i64} {
// CHECK-LABEL: func.func @put_off
// CHECK: rt.call @grad(%arg2)
// CHECK-NEXT: rt.call @other
// CHECK-NEXT: dist.send {{.*}} to 0 on "back"
// CHECK-NEXT: dist.send {{.*}} to 0 on "sum"
// CHECK-NEXT: dist.receive from 0 on "total"
// CHECK-NEXT: rt.call @other
// CHECK-NEXT: rt.call @update
// CHECK-NEXT: rt.call @update
func.func @put_off(%w: !whole {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                   %x: !whole {nn.name = "x"}, %y: !whole {nn.name = "y"}) -> (!whole {nn.updates = "w"}, !whole {nn.updates = "v"}) {
  %s = rt.call @grad(%x) {rt.action = "B1.1", rt.roles = ["weight_gradient"]} : (!whole) -> !whole
  %d = rt.call @other(%y) {rt.action = "B1.1", rt.roles = ["input_gradient"]} : (!whole) -> !whole
  dist.send %d to 0 on "back" {rt.action = "B1.1"} : !whole
  %g = rt.call @other(%d) {rt.action = "W1.1"} : (!whole) -> !whole
  dist.send %s to 0 on "sum" : !whole
  %t = dist.receive from 0 on "total" : !whole
  %v1 = rt.call @update(%v, %g) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %w1 = rt.call @update(%w, %t) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %w1, %v1 : !whole, !whole
}
func.func private @grad(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %x : tensor<4xf32>
}
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %x : tensor<4xf32>
}
func.func private @update(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

// The old value of %w is gathered late, so that the call which overwrites it is late, and with it what is sent. What crosses
// stages behind it stays behind it, also what is received for an update.
#mesh = #dist.mesh<[stages "pp"=2, "dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["pp"]>>
!shard = tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>>
module attributes {dist.mesh = #mesh, weft.stage = 0 : i64} {
// CHECK-LABEL: func.func @late
// CHECK: rt.call @other
// CHECK: dist.all_gather
// CHECK-NEXT: rt.call @overwrite
// CHECK-NEXT: dist.send {{.*}} on "a"
// CHECK-NEXT: dist.receive from 1 on "b"
// CHECK-NEXT: dist.all_reduce
// CHECK-NEXT: rt.call @update
// CHECK-NEXT: rt.call @update
func.func @late(%w: !shard {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                %p: !partial {nn.name = "p"}, %x: !whole {nn.name = "x"})
    -> (!whole, !whole, !shard {nn.updates = "w"}, !whole {nn.updates = "v"}) {
  %g = dist.all_gather %w ["dp"] dim 0 : !shard -> !whole
  %w1 = rt.call @overwrite(%w) : (!shard) -> !shard
  dist.send %w1 to 1 on "a" : !shard
  %c = dist.receive from 1 on "b" : !whole
  %s = dist.all_reduce %p ["pp"] accumulate f32 : !partial -> !whole
  %y = rt.call @other(%x) : (!whole) -> !whole
  %z = rt.call @update(%y, %g) : (!whole, !whole) -> !whole
  %v1 = rt.call @update(%v, %c) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %z, %s, %w1, %v1 : !whole, !whole, !shard, !whole
}
func.func private @overwrite(%x: !shard) -> !shard attributes {rt.routine, rt.in_place = array<i64: 0>} {
  %0 = rt.call @half(%x) : (!shard) -> !shard
  return %0 : !shard
}
func.func private @half(%x: tensor<2xf32>) -> tensor<2xf32> attributes {rt.kernel} {
  return %x : tensor<2xf32>
}
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  return %x : tensor<4xf32>
}
func.func private @update(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
