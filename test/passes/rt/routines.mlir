// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels --rt-hoist-constants --rt-form-buckets --rt-order-commands --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands -o %t.local.mlir
// RUN: FileCheck %s --check-prefix=LOCAL < %t.local.mlir
// RUN: weft-opt %t.local.mlir --rt-lower-to-commands --rt-assign-streams --rt-plan-arena -o %t.scheduled.mlir
// RUN: FileCheck %s < %t.scheduled.mlir
// RUN: weft-opt %t.scheduled.mlir --rt-verify-commands -o /dev/null
// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels --rt-hoist-constants --rt-form-buckets --rt-order-commands --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands --rt-lower-to-commands | FileCheck %s --check-prefix=NAMES

// What programs call goes through the same passes as they: two microbatches run one routine, which adds to a gradient in place
// and sums over the network inside; another only reduces, a third only updates.
#mesh = #dist.mesh<["dp"=2]>
!x = tensor<8x4xf32, #dist.local<#mesh, [16{"dp"}, 4]>>
!w = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!g = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["dp"]>>
!n = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
!m = tensor<4xf32, #dist.local<#mesh, [4]>>
module attributes {dist.mesh = #mesh} {

// The sum lies where its routine says, so nothing is copied.
// LOCAL-LABEL: func.func private @block
// LOCAL-SAME: (%[[X:.+]]: tensor<8x4xf32, {{.*}}>, %[[W:.+]]: tensor<4x4xf32, {{.*}}>, %[[G:.+]]: tensor<4x4xf32, {{.*}}>)
// LOCAL: %[[SUM:.+]] = rt.fusion library(%{{.+}}, %{{.+}}, %[[G]] : {{.*}} attributes {rt.in_place = array<i64: 2>, rt.roles = ["weight_gradient"]}
// LOCAL-NOT: rt.dense
// LOCAL: return %{{.+}}, %[[SUM]]
func.func private @block(%x: !x, %w: !w, %g: !g) -> (!x, !g) attributes {rt.routine, rt.in_place = array<i64: -1, 2>} {
  %0 = nn.reduce sum %x dims = [0] : !x -> !n loc("/h.{}/sums")
  %1 = dist.all_reduce %0 ["dp"] accumulate f32 : !n -> !m loc("/h.{}/sums")
  %2 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x loc("/h.{}/product")
  %3 = nn.contract %x, %2 lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"} : (!x, !x) -> !g loc("/h.{}/gradient")
  %4 = nn.add %g, %3 {nn.role = "weight_gradient"} : (!g, !g) -> !g loc("/h.{}/accumulated")
  %5 = nn.broadcast %1 dims = [1] : !m -> !x loc("/{}/result")
  %6 = nn.add %2, %5 : (!x, !x) -> !x loc("/{}/result")
  return %6, %4 : !x, !g
}
func.func private @reduce(%g: !g) -> !w attributes {rt.routine} {
  %0 = dist.all_reduce %g ["dp"] accumulate f32 : !g -> !w
  return %0 : !w
}
func.func private @update(%w: !w, %g: !w) -> !w attributes {rt.routine, rt.in_place = array<i64: 0>} {
  %0 = nn.sub %w, %g {nn.role = "optimizer"} : (!w, !w) -> !w
  return %0 : !w
}
func.func private @first(%x: !x) -> !g attributes {rt.routine} {
  %0 = nn.contract %x, %x lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"} : (!x, !x) -> !g loc("/first/gradient")
  return %0 : !g
}

// Calls say what their results are for. The reduction starts when its gradient is there, and the update follows.
// LOCAL-LABEL: func.func @step
// LOCAL-NEXT: %[[G0:.+]] = rt.call @first(%{{.+}}) {rt.roles = ["weight_gradient"]}
// LOCAL: %[[B0:.+]]:2 = rt.call @block(%{{.+}}, %{{.+}}, %[[G0]]) {label = "h.0", microbatch = 0 : i64, rt.roles = ["", "weight_gradient"]}
// LOCAL: %[[B1:.+]]:2 = rt.call @block(%[[B0]]#0, %{{.+}}, %[[B0]]#1) {label = "h.1", microbatch = 0 : i64, rt.roles = ["", "weight_gradient"]}
// LOCAL-NEXT: %[[R:.+]] = rt.call @reduce(%[[B1]]#1)
// LOCAL-NEXT: %[[U:.+]] = rt.call @update(%{{.+}}, %[[R]]) {rt.roles = ["optimizer"]}
// LOCAL-NEXT: %[[LAST:.+]]:2 = rt.call @block
// LOCAL-NEXT: return %[[LAST]]#0, %[[LAST]]#1, %[[U]]

// Inside, stream 1 waits for stream 0 before it starts, stream 0 for stream 1 at the latest at the end.
// CHECK-LABEL: rt.program @block routine [-1, 2] streams 2 events 2 arena
// CHECK-SAME: rt.spec = @block.spec
// CHECK-NEXT: ^bb0(%[[X:.+]]: memref<8x4xf32>, %[[W:.+]]: memref<4x4xf32>, %[[G:.+]]: memref<4x4xf32>, %[[Y:.+]]: memref<8x4xf32>):
// CHECK: rt.record 0 stream 0
// CHECK: rt.wait 0 stream 1
// CHECK: rt.collective all_reduce
// CHECK: rt.record 1 stream 1
// CHECK: rt.gemm %{{.+}}, %{{.+}} -> %[[G]] plus(%[[G]] : memref<4x4xf32>)
// CHECK: rt.wait 1 stream 0
// CHECK: rt.launch @{{.+}} writes(%[[Y]] : memref<8x4xf32>)

// What only communicates stays on its stream, and needs no events: its call is ordered.
// CHECK-LABEL: rt.program @reduce routine [-1] streams 2 events 0 arena 0
// CHECK-NEXT: ^bb0(%[[G:.+]]: memref<4x4xf32>, %[[R:.+]]: memref<4x4xf32>):
// CHECK-NEXT: rt.collective all_reduce sum %[[G]] -> %[[R]] {{.*}} stream 1

// What a call makes has the name of the node in its routine.
// NAMES-LABEL: rt.program @step
// NAMES-DAG: rt.buffer "/first/gradient" gradient
// NAMES-DAG: rt.buffer "/h.0/result" activation
// NAMES: rt.invoke

// A call is one command; its scratch lives while it runs. All calls add to the first sum.
// CHECK-LABEL: rt.program @step streams 2
// CHECK: %[[GRADIENT:.+]] = rt.buffer "{{.+}}" gradient
// CHECK: rt.invoke @first reads(%{{.+}}) writes(%[[GRADIENT]] : memref<4x4xf32>) stream 0
// CHECK: rt.invoke @block reads(%{{.+}}, %{{.+}}, %[[GRADIENT]] : {{.*}}) writes(%[[MIDDLE:.+]], %[[GRADIENT]] : {{.*}}) scratch(%{{.+}} : memref<{{[0-9]+}}xi8>) stream 0 {label = "h.0", microbatch = 0 : i64,
// CHECK: rt.invoke @block reads(%[[MIDDLE]], %{{.+}}, %[[GRADIENT]] : {{.*}}) writes(%{{.+}}, %[[GRADIENT]] : {{.*}}) scratch(%{{.+}} : memref<{{[0-9]+}}xi8>) stream 0 {label = "h.1", microbatch = 0 : i64,
// CHECK: rt.record [[MADE:[0-9]+]] stream 0
// CHECK-NEXT: rt.wait [[MADE]] stream 1
// CHECK-NEXT: rt.invoke @reduce reads(%[[GRADIENT]] : memref<4x4xf32>) writes(%[[REDUCED:.+]] : memref<4x4xf32>) communicates stream 1
// CHECK-NEXT: rt.record [[SENT:[0-9]+]] stream 1
// CHECK-NEXT: rt.wait [[SENT]] stream 0
// CHECK-NEXT: rt.invoke @update reads(%[[STATE:.+]], %[[REDUCED]] : {{.*}}) writes(%[[STATE]] : memref<4x4xf32>) stream 0
// CHECK: rt.invoke @block
func.func @step(%x: !x {nn.name = "x"}, %w: !w {nn.name = "w", nn.initial = 0.0 : f32}, %v: !w {nn.name = "v", nn.initial = 0.0 : f32},
                %s: !g {nn.name = "s", nn.initial = 0.0 : f32})
    -> (!x {nn.name = "y"}, !g {nn.updates = "s"}, !w {nn.updates = "w"}) {
  %g0 = rt.call @first(%x) : (!x) -> !g
  %0:2 = rt.call @block(%x, %w, %g0) {label = "h.0", microbatch = 0 : i64} : (!x, !w, !g) -> (!x, !g)
  %1:2 = rt.call @block(%0#0, %v, %0#1) {label = "h.1", microbatch = 0 : i64} : (!x, !w, !g) -> (!x, !g)
  %2:2 = rt.call @block(%1#0, %v, %s) : (!x, !w, !g) -> (!x, !g)
  %3 = rt.call @reduce(%1#1) : (!g) -> !w
  %4 = rt.call @update(%w, %3) : (!w, !w) -> !w
  return %2#0, %2#1, %4 : !x, !g, !w
}
}
