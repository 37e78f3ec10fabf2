// RUN: weft-opt %s --rt-form-buckets | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(rt-form-buckets{bytes=64 first-bytes=32})' | FileCheck %s --check-prefix=SMALL
// RUN: weft-opt %s --pass-pipeline='builtin.module(rt-form-buckets{bytes=0})' | FileCheck %s --check-prefix=NONE
// RUN: weft-opt %s --rt-form-buckets --rt-order-commands --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands --rt-lower-to-commands --rt-assign-streams --rt-plan-arena --rt-verify-commands | FileCheck %s --check-prefix=COMMANDS

// NONE-NOT: rt.bucket

#mesh = #dist.mesh<["hsdp"=2, "dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
!shard = tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>>
!both = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["hsdp", "dp"]>>
!part = tensor<2xf32, #dist.local<#mesh, [4{"dp"}], partial = sum["hsdp"]>>
!wide = tensor<4xf64, #dist.local<#mesh, [4], partial = sum["dp"]>>
!wideWhole = tensor<4xf64, #dist.local<#mesh, [4]>>
module attributes {dist.mesh = #mesh} {

// Gradients that only updates read share messages, in the order in which they
// are made; what goes on with the backward pass, and another type, stays alone.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[G1:.+]] = rt.call @grad
// CHECK-NEXT: %[[A:.+]] = rt.call @grad
// CHECK-NEXT: %[[S:.+]] = dist.all_reduce %[[A]]
// CHECK-NEXT: %[[G2:.+]] = rt.call @grad(%[[S]])
// CHECK-NOT: = dist.
// CHECK: %[[R:.+]]:2 = rt.bucket(%[[G1]], %[[G2]] : {{.*}}) -> ({{.*}}) {
// CHECK-NEXT: ^bb0(%[[P:.+]]: tensor<4xf32{{.*}}>, %[[Q:.+]]: tensor<4xf32{{.*}}>):
// CHECK-NEXT: %[[PS:.+]] = dist.all_reduce %[[P]] ["dp"]
// CHECK-NEXT: %[[QS:.+]] = dist.all_reduce %[[Q]] ["dp"]
// CHECK-NEXT: rt.yield %[[PS]], %[[QS]]
// CHECK-NEXT: }
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[R]]#0)
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[R]]#1)
// CHECK: dist.all_reduce {{.*}}tensor<4xf64
// CHECK-NEXT: return

// Each gradient of 16 bytes, buckets of 32.
// SMALL-LABEL: func.func @gradients
// SMALL: rt.bucket
// COMMANDS-LABEL: rt.program @gradients
// COMMANDS: rt.collective all_reduce sum %[[A:.+]] -> {{.+}} axes ["dp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 1
// COMMANDS: rt.collective all_reduce sum %[[G1:.+]], %[[G2:.+]] -> %[[G1]], %[[G2]] axes ["dp"] shape [1, 4, 1, 1, 1, 1, 4, 1, 1, 1] accumulate f32 stream 1
func.func @gradients(%w: !whole {nn.name = "w", nn.initial = 0.0 : f32}, %v: !whole {nn.name = "v", nn.initial = 0.0 : f32},
                     %x: !whole {nn.name = "x"}) -> (!whole {nn.updates = "w"}, !whole {nn.updates = "v"}, !wideWhole) {
  %g1 = rt.call @grad(%x) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %r1 = dist.all_reduce %g1 ["dp"] accumulate f32 : !partial -> !whole
  %a = rt.call @grad(%x) {rt.roles = ["input_gradient"]} : (!whole) -> !partial
  %s = dist.all_reduce %a ["dp"] accumulate f32 : !partial -> !whole
  %g2 = rt.call @grad(%s) {rt.roles = ["weight_gradient"]} : (!whole) -> !partial
  %r2 = dist.all_reduce %g2 ["dp"] accumulate f32 : !partial -> !whole
  %f = rt.call @wide(%x) : (!whole) -> !wide
  %norm = dist.all_reduce %f ["dp"] accumulate f64 : !wide -> !wideWhole
  %w1 = rt.call @update(%w, %r1) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  %v1 = rt.call @update(%v, %r2) {rt.roles = ["optimizer"]} : (!whole, !whole) -> !whole
  return %w1, %v1, %norm : !whole, !whole, !wideWhole
}

// A bucket ends when it is full: the first at 32 bytes, the next at an eighth of
// all, but not below 32 either.
// SMALL-LABEL: func.func @full
// SMALL: %{{.+}}:2 = rt.bucket
// SMALL: %{{.+}}:2 = rt.bucket
// SMALL: %[[LAST:.+]] = rt.call @grad
// SMALL-NEXT: dist.all_reduce %[[LAST]]
// SMALL-NEXT: return
func.func @full(%x: !whole {nn.name = "x"}) -> (!whole, !whole, !whole, !whole, !whole) {
  %g1 = rt.call @grad(%x) : (!whole) -> !partial
  %r1 = dist.all_reduce %g1 ["dp"] accumulate f32 : !partial -> !whole
  %g2 = rt.call @grad(%x) : (!whole) -> !partial
  %r2 = dist.all_reduce %g2 ["dp"] accumulate f32 : !partial -> !whole
  %g3 = rt.call @grad(%x) : (!whole) -> !partial
  %r3 = dist.all_reduce %g3 ["dp"] accumulate f32 : !partial -> !whole
  %g4 = rt.call @grad(%x) : (!whole) -> !partial
  %r4 = dist.all_reduce %g4 ["dp"] accumulate f32 : !partial -> !whole
  %g5 = rt.call @grad(%x) : (!whole) -> !partial
  %r5 = dist.all_reduce %g5 ["dp"] accumulate f32 : !partial -> !whole
  return %r1, %r2, %r3, %r4, %r5 : !whole, !whole, !whole, !whole, !whole
}

// Steps of one value are in buckets behind each other: scattered inside of a
// machine, then reduced across, then gathered as new parameters.
// CHECK-LABEL: func.func @steps
// CHECK: rt.bucket
// CHECK: dist.reduce_scatter
// CHECK-NEXT: dist.reduce_scatter
// CHECK: rt.bucket
// CHECK: dist.all_reduce
// CHECK-NEXT: dist.all_reduce
// CHECK: rt.call @updateShard
// CHECK-NEXT: rt.call @updateShard
// CHECK-NEXT: rt.bucket
// CHECK: dist.all_gather
// CHECK-NEXT: dist.all_gather
// CHECK-NOT: = dist.
// CHECK: return
// COMMANDS-LABEL: rt.program @steps
// COMMANDS-COUNT-3: rt.collective
// COMMANDS-NOT: rt.collective
// COMMANDS: rt.output
func.func @steps(%w: !shard {nn.name = "sw", nn.initial = 0.0 : f32}, %v: !shard {nn.name = "sv", nn.initial = 0.0 : f32},
                 %x: !whole {nn.name = "x"}) -> (!whole, !whole) {
  %g1 = rt.call @grad(%x) : (!whole) -> !both
  %p1 = dist.reduce_scatter %g1 ["dp"] dim 0 accumulate f32 : !both -> !part
  %r1 = dist.all_reduce %p1 ["hsdp"] accumulate f32 : !part -> !shard
  %g2 = rt.call @grad(%x) : (!whole) -> !both
  %p2 = dist.reduce_scatter %g2 ["dp"] dim 0 accumulate f32 : !both -> !part
  %r2 = dist.all_reduce %p2 ["hsdp"] accumulate f32 : !part -> !shard
  %w1 = rt.call @updateShard(%w, %r1) {rt.roles = ["optimizer"]} : (!shard, !shard) -> !shard
  %v1 = rt.call @updateShard(%v, %r2) {rt.roles = ["optimizer"]} : (!shard, !shard) -> !shard
  %w2 = dist.all_gather %w1 ["dp"] dim 0 : !shard -> !whole
  %v2 = dist.all_gather %v1 ["dp"] dim 0 : !shard -> !whole
  return %w2, %v2 : !whole, !whole
}

// Gathers of states are taken in the order of their readers, wherever they stood.
// CHECK-LABEL: func.func @gathers
// CHECK-SAME: (%[[A:arg[0-9]+]]: {{.*}}"a"}, %[[B:arg[0-9]+]]: {{.*}}"b"}, %[[C:arg[0-9]+]]: {{.*}}"c"},
// CHECK-NEXT: %[[ALL:.+]]:3 = rt.bucket(%[[C]], %[[A]], %[[B]] :
// CHECK: rt.call @update(%{{.+}}, %[[ALL]]#0)
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[ALL]]#1)
// CHECK-NEXT: rt.call @update(%{{.+}}, %[[ALL]]#2)
// SMALL-LABEL: func.func @gathers
// SMALL: %[[TWO:.+]]:2 = rt.bucket
// SMALL: rt.call @update(%{{.+}}, %[[TWO]]#0)
// SMALL: rt.call @update(%{{.+}}, %[[TWO]]#1)
// SMALL: dist.all_gather
// SMALL-NEXT: rt.call @update
func.func @gathers(%a: !shard {nn.name = "a", nn.initial = 0.0 : f32}, %b: !shard {nn.name = "b", nn.initial = 0.0 : f32},
                   %c: !shard {nn.name = "c", nn.initial = 0.0 : f32}, %x: !whole {nn.name = "x"}) -> !whole {
  %0 = dist.all_gather %a ["dp"] dim 0 : !shard -> !whole
  %1 = dist.all_gather %b ["dp"] dim 0 : !shard -> !whole
  %2 = dist.all_gather %c ["dp"] dim 0 : !shard -> !whole
  %3 = rt.call @update(%x, %2) : (!whole, !whole) -> !whole
  %4 = rt.call @update(%3, %0) : (!whole, !whole) -> !whole
  %5 = rt.call @update(%4, %1) : (!whole, !whole) -> !whole
  return %5 : !whole
}

func.func private @grad(tensor<4xf32>) -> tensor<4xf32>
func.func private @wide(tensor<4xf32>) -> tensor<4xf64>
func.func private @update(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func private @updateShard(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
}
