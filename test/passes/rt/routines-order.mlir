// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels --rt-hoist-constants --rt-form-buckets --rt-order-commands --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands --rt-lower-to-commands --rt-assign-streams --rt-plan-arena --rt-verify-commands | FileCheck %s

// A routine that only gathers states is a collective: parameters come one reader ahead, as communication. A sum that calls add
// to in place and that becomes an output lies in the output's buffer from the start.
// CHECK-LABEL: rt.program @p streams 2
// CHECK: %[[A:.+]] = rt.buffer "{{.*}}" communication
// CHECK: %[[B:.+]] = rt.buffer "{{.*}}" communication
// CHECK: %[[SUM:.+]] = rt.buffer "loss" output
// CHECK: %[[C:.+]] = rt.buffer "{{.*}}" communication
// CHECK: rt.output "loss" %[[SUM]]
// CHECK: rt.invoke @gather reads(%{{.+}}) writes(%[[A]] : memref<4x4xf32>) communicates stream 1
// CHECK: rt.invoke @gather reads(%{{.+}}) writes(%[[B]] : memref<4x4xf32>) communicates stream 1
// CHECK: rt.invoke @f reads(%{{.+}}, %[[A]] :
// CHECK: rt.invoke @f reads({{.*}}) writes(%[[SUM]] :
// CHECK: rt.invoke @gather reads(%{{.+}}) writes(%[[C]] : memref<4x4xf32>) communicates stream 1
// CHECK: rt.invoke @f reads(%{{.+}}, %[[B]] :
// CHECK: rt.invoke @acc reads(%{{.+}}, %[[SUM]] : {{.*}}) writes(%[[SUM]] :
// CHECK: rt.invoke @f reads(%{{.+}}, %[[C]] :
// CHECK: rt.invoke @acc reads(%{{.+}}, %[[SUM]] : {{.*}}) writes(%[[SUM]] :
#mesh = #dist.mesh<["dp"=2]>
!w = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!s = tensor<2x4xf32, #dist.local<#mesh, [4{"dp"}, 4]>>
module attributes {dist.mesh = #mesh} {
func.func private @gather(%s: !s) -> !w attributes {rt.routine} {
  %0 = dist.all_gather %s ["dp"] dim 0 : !s -> !w
  return %0 : !w
}
func.func private @f(%x: !w, %w: !w) -> !w attributes {rt.routine} {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!w, !w) -> !w
  return %0 : !w
}
func.func private @acc(%x: !w, %l: !w) -> !w attributes {rt.routine, rt.in_place = array<i64: 1>} {
  %0 = nn.add %x, %l : (!w, !w) -> !w
  return %0 : !w
}
func.func @p(%x: !w {nn.name = "x"}, %a: !s {nn.name = "a", nn.initial = 0.0 : f32}, %b: !s {nn.name = "b", nn.initial = 0.0 : f32}, %c: !s {nn.name = "c", nn.initial = 0.0 : f32}) -> (!w {nn.name = "loss"}, !w {nn.name = "y"}) {
  %wa = rt.call @gather(%a) : (!s) -> !w
  %1 = rt.call @f(%x, %wa) : (!w, !w) -> !w
  %l0 = rt.call @f(%1, %1) : (!w, !w) -> !w
  %wb = rt.call @gather(%b) : (!s) -> !w
  %2 = rt.call @f(%1, %wb) : (!w, !w) -> !w
  %l1 = rt.call @acc(%2, %l0) : (!w, !w) -> !w
  %wc = rt.call @gather(%c) : (!s) -> !w
  %3 = rt.call @f(%2, %wc) : (!w, !w) -> !w
  %l2 = rt.call @acc(%3, %l1) : (!w, !w) -> !w
  return %l2, %3 : !w, !w
}
}
