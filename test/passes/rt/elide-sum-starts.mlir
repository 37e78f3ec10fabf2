// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels --rt-hoist-constants --rt-order-commands --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands --rt-elide-sum-starts -o %t.local.mlir
// RUN: FileCheck %s --check-prefix=LOCAL < %t.local.mlir
// RUN: weft-opt %t.local.mlir --rt-lower-to-commands --rt-assign-streams --rt-plan-arena --rt-verify-commands | FileCheck %s
// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels --rt-hoist-constants --rt-order-commands --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands --rt-elide-sum-starts --rt-lower-to-commands | FileCheck %s --check-prefix=NAME

// The function computes what it did: a sum of nothing is negative zeros that a routine made. Of other zeros it is not.
// RUN: weft-opt %s --rt-record-results --rt-fuse-kernels --rt-outline-kernels --rt-hoist-constants --rt-order-commands --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands --rt-elide-sum-starts -o %t.recorded.mlir
// RUN: weft-opt %t.recorded.mlir --rt-verify-results | FileCheck %s --check-prefix=LOCAL
// RUN: sed -e '/func.func private @start_zero(/,/}$/d' -e 's/rt.call @start_zero(.*/rt.nothing : tensor<4x4xf32>/' %t.recorded.mlir > %t.bad.mlir
// RUN: not weft-opt %t.bad.mlir --rt-verify-results 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO-NOT: error
// ZERO: error: result 1 of @needed is not computed as it was before kernels were formed
// ZERO: error: result 2 of @needed is not
// ZERO-NOT: error

// A routine adds a product to %g, and a sum of rows to %h.
// LOCAL: func.func private @add
func.func private @add(%x: tensor<8x4xf32>, %g: tensor<4x4xf32>, %h: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
    attributes {rt.routine, rt.in_place = array<i64: 1, 2>} {
  %0 = nn.contract %x, %x lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("product")
  %1 = nn.add %g, %0 {nn.role = "weight_gradient"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("product")
  %2 = nn.reduce sum %x dims = [0] {nn.role = "weight_gradient"} : tensor<8x4xf32> -> tensor<4xf32> loc("rows")
  %3 = nn.add %h, %2 {nn.role = "weight_gradient"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("rows")
  return %1, %3 : tensor<4x4xf32>, tensor<4xf32>
}
// One whose sum has memory of its own would have to be told that there is none to add to.
func.func private @add_apart(%x: tensor<8x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.routine} {
  %0 = nn.contract %x, %x lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("product")
  %1 = nn.add %g, %0 {nn.role = "weight_gradient"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("product")
  return %1 : tensor<4x4xf32>
}
// A routine that makes a product of the sum so far needs one.
func.func private @square(%g: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.routine} {
  %0 = nn.contract %g, %g lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("square")
  return %0 : tensor<4x4xf32>
}
func.func private @start() -> tensor<4x4xf32> attributes {rt.routine} {
  %0 = nn.constant dense<-0.0> : tensor<f32> : tensor<f32>
  %1 = nn.broadcast %0 dims = [] {nn.role = "weight_gradient"} : tensor<f32> -> tensor<4x4xf32> loc("start")
  return %1 : tensor<4x4xf32>
}
func.func private @start_needed() -> tensor<4x4xf32> attributes {rt.routine} {
  %0 = nn.constant dense<-0.0> : tensor<f32> : tensor<f32>
  %1 = nn.broadcast %0 dims = [] {nn.role = "weight_gradient"} : tensor<f32> -> tensor<4x4xf32> loc("start")
  return %1 : tensor<4x4xf32>
}
func.func private @start_apart() -> tensor<4x4xf32> attributes {rt.routine} {
  %0 = nn.constant dense<-0.0> : tensor<f32> : tensor<f32>
  %1 = nn.broadcast %0 dims = [] {nn.role = "weight_gradient"} : tensor<f32> -> tensor<4x4xf32> loc("start")
  return %1 : tensor<4x4xf32>
}
func.func private @start_rows() -> tensor<4xf32> attributes {rt.routine} {
  %0 = nn.constant dense<-0.0> : tensor<f32> : tensor<f32>
  %1 = nn.broadcast %0 dims = [] {nn.role = "weight_gradient"} : tensor<f32> -> tensor<4xf32> loc("start_rows")
  return %1 : tensor<4xf32>
}
// To 0.0 a first addend -0.0 would be added.
func.func private @start_zero() -> tensor<4x4xf32> attributes {rt.routine} {
  %0 = nn.constant dense<0.0> : tensor<f32> : tensor<f32>
  %1 = nn.broadcast %0 dims = [] {nn.role = "weight_gradient"} : tensor<f32> -> tensor<4x4xf32> loc("start_zero")
  return %1 : tensor<4x4xf32>
}

// The sum of products begins with the first; the sum of rows is a kernel's, which adds to what is there.
// LOCAL-LABEL: func.func @step
// LOCAL-DAG: %[[NOTHING:.+]] = rt.nothing {rt.roles = ["weight_gradient"]} : tensor<4x4xf32>
// LOCAL-DAG: %[[ROWS:.+]] = rt.call @start_rows(%{{.+}})
// LOCAL-NOT: @start(
// LOCAL: %[[FIRST:.+]]:2 = rt.call @add(%arg0, %[[NOTHING]], %[[ROWS]])
// LOCAL: rt.call @add(%arg0, %[[FIRST]]#0, %[[FIRST]]#1)
//
// No command writes the sum before, and the buffer is one.
// CHECK-LABEL: rt.program @add routine [1, 2]
// CHECK: rt.gemm %{{.+}}, %{{.+}} -> %[[G:.+]] plus(%[[G]] :
// CHECK-NOT: rt.program @start routine
// CHECK-LABEL: rt.program @step
// CHECK: %[[SUM:.+]] = rt.buffer "{{.+}}" output {{.*}} : memref<4x4xf32>
// CHECK: rt.invoke @start_rows reads(%{{.+}}) writes(%[[H:.+]] : memref<4xf32>)
// CHECK: rt.invoke @add reads(%{{.+}}, %[[SUM]], %[[H]] : {{.*}}) writes(%[[SUM]], %[[H]] : {{.*}}) {{.*}}unset [1] stream 0
// CHECK: rt.invoke @add reads(%{{.+}}, %[[SUM]], %[[H]] : {{.*}}) writes(%[[SUM]], %[[H]] :
// CHECK-NOT: unset
// CHECK: rt.output
func.func @step(%x: tensor<8x4xf32> {nn.name = "x"}) -> (tensor<4x4xf32> {nn.name = "g"}, tensor<4xf32> {nn.name = "h"}) {
  %g = rt.call @start() {microbatch = 0 : i64} : () -> tensor<4x4xf32>
  %h = rt.call @start_rows() {microbatch = 0 : i64} : () -> tensor<4xf32>
  %0:2 = rt.call @add(%x, %g, %h) {microbatch = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  %1:2 = rt.call @add(%x, %0#0, %0#1) {microbatch = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return %1#0, %1#1 : tensor<4x4xf32>, tensor<4xf32>
}

// A sum of nothing has the name of what adds to it first.
func.func @named(%x: tensor<8x4xf32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "y"}) {
  %g = rt.call @start() : () -> tensor<4x4xf32>
  %h = rt.call @start_rows() : () -> tensor<4xf32>
  %0:2 = rt.call @add(%x, %g, %h) : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  %1 = nn.reduce sum %0#0 dims = [0, 1] : tensor<4x4xf32> -> tensor<f32> loc("total")
  return %1 : tensor<f32>
}
// NAME-LABEL: rt.program @named
// NAME: rt.buffer "product" gradient : memref<4x4xf32>

// LOCAL-LABEL: func.func @needed
// LOCAL-NOT: rt.nothing
// LOCAL: return
func.func @needed(%x: tensor<8x4xf32> {nn.name = "x"})
    -> (tensor<4x4xf32> {nn.name = "y"}, tensor<4x4xf32> {nn.name = "g"}, tensor<4xf32> {nn.name = "h"}, tensor<4x4xf32> {nn.name = "a"}) {
  %g = rt.call @start_needed() : () -> tensor<4x4xf32>
  %y = rt.call @square(%g) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = rt.call @start_zero() : () -> tensor<4x4xf32>
  %h = rt.call @start_rows() : () -> tensor<4xf32>
  %0:2 = rt.call @add(%x, %z, %h) : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  %p = rt.call @start_apart() : () -> tensor<4x4xf32>
  %a = rt.call @add_apart(%x, %p) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %0#0, %0#1, %a : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
}
