// RUN: weft-opt %s --rt-form-routines --mlir-print-local-scope | FileCheck %s
// What goes from call to call is what takes the least memory.

#mesh = #dist.mesh<["dp"=2]>
!x = tensor<64x64xf32, #dist.local<#mesh, [64, 64]>>
!s = tensor<64xf32, #dist.local<#mesh, [64]>>
module attributes {dist.mesh = #mesh} {

// A value of two rows is made again in the backward pass, which is given the row; as an op of the backward pass, so that it is
// in kernels of that. Of what the forward pass keeps only that is left.
// CHECK: func.func private @forward(
// CHECK: %[[E:.+]] = nn.exp
// CHECK: return %[[E]], %{{.+}} :
// CHECK: func.func private @backward(%[[S:[a-z0-9]+]]: tensor<64xf32,
// CHECK-DAG: %[[B:.+]] = nn.broadcast %[[S]] dims = [1]
// CHECK-DAG: %[[C:.+]] = nn.broadcast %[[S]] dims = [0]
// CHECK: %[[V:.+]] = nn.add %[[B]], %[[C]] {nn.role = "input_gradient"}
// CHECK: nn.mul %{{.+}}, %[[V]] {nn.role = "input_gradient"}
// CHECK-LABEL: func.func @again
func.func @again(%x: !x {nn.name = "x"}, %w0: !x {nn.name = "w0", nn.initial = 1.0 : f32}, %w1: !x {nn.name = "w1", nn.initial = 1.0 : f32},
    %s0: !s {nn.name = "s0", nn.initial = 1.0 : f32}, %s1: !s {nn.name = "s1", nn.initial = 1.0 : f32}) -> !x {
  %e0 = nn.exp %s0 : (!s) -> !s
  %b0 = nn.broadcast %e0 dims = [1] : !s -> !x
  %c0 = nn.broadcast %e0 dims = [0] : !s -> !x
  %v0 = nn.add %b0, %c0 : (!x, !x) -> !x
  %h0 = nn.contract %x, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !x) -> !x
  %o0 = nn.mul %h0, %v0 : (!x, !x) -> !x
  %e1 = nn.exp %s1 : (!s) -> !s
  %b1 = nn.broadcast %e1 dims = [1] : !s -> !x
  %c1 = nn.broadcast %e1 dims = [0] : !s -> !x
  %v1 = nn.add %b1, %c1 : (!x, !x) -> !x
  %h1 = nn.contract %o0, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !x) -> !x
  %o1 = nn.mul %h1, %v1 : (!x, !x) -> !x
  %loss = nn.exp %o1 : (!x) -> !x
  %g0 = nn.contract %loss, %w1 lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g1 = nn.gelu %g0 {nn.role = "input_gradient"} : (!x) -> !x
  %g2 = nn.mul %g1, %v1 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g3 = nn.tanh %g2 {nn.role = "input_gradient"} : (!x) -> !x
  %g4 = nn.contract %g3, %w0 lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g5 = nn.gelu %g4 {nn.role = "input_gradient"} : (!x) -> !x
  %g6 = nn.mul %g5, %v0 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g7 = nn.tanh %g6 {nn.role = "input_gradient"} : (!x) -> !x
  return %g7 : !x
}

// A permutation that is how a product is written is given, not the product: so each routine reads it where it is.
// CHECK: func.func private @[[FORWARD:.+]](%{{.+}}) ->
// CHECK: %[[P:.+]] = nn.contract
// CHECK-NEXT: %[[T:.+]] = nn.transpose %[[P]] permutation = [1, 0] {rt.written}
// CHECK-NEXT: nn.exp %[[T]]
// CHECK: return %[[T]], %{{.+}} :
// CHECK: func.func private @[[BACKWARD:.+]]({{.*}}, %[[OLD:[a-z0-9]+]]: tensor<64x64xf32, {{[^%]*}}) ->
// CHECK: %[[BACK:.+]] = nn.transpose %[[OLD]] permutation = [1, 0] {nn.role
// CHECK-NEXT: nn.mul %{{.+}}, %[[BACK]]
// CHECK-LABEL: func.func @written
// CHECK: %[[F0:.+]]:2 = rt.call @[[FORWARD]](
// CHECK: %[[F1:.+]]:2 = rt.call @[[FORWARD]](
// CHECK: rt.call @[[BACKWARD]](%[[F1]]#1, %{{.+}}, %[[F1]]#0)
// CHECK: rt.call @[[BACKWARD]](%{{.+}}, %{{.+}}, %[[F0]]#0)
func.func @written(%x: !x {nn.name = "x"}, %w0: !x {nn.name = "w0", nn.initial = 1.0 : f32}, %w1: !x {nn.name = "w1", nn.initial = 1.0 : f32}) -> !x {
  %p0 = nn.contract %x, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !x) -> !x
  %t0 = nn.transpose %p0 permutation = [1, 0] {rt.written} : !x -> !x
  %e0 = nn.exp %t0 : (!x) -> !x
  %o0 = nn.contract %e0, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !x) -> !x
  %p1 = nn.contract %o0, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !x) -> !x
  %t1 = nn.transpose %p1 permutation = [1, 0] {rt.written} : !x -> !x
  %e1 = nn.exp %t1 : (!x) -> !x
  %o1 = nn.contract %e1, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !x) -> !x
  %g0 = nn.contract %o1, %w1 lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g1 = nn.gelu %g0 {nn.role = "input_gradient"} : (!x) -> !x
  %b1 = nn.transpose %t1 permutation = [1, 0] {nn.role = "input_gradient"} : !x -> !x
  %g2 = nn.mul %g1, %b1 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g3 = nn.tanh %g2 {nn.role = "input_gradient"} : (!x) -> !x
  %g4 = nn.contract %g3, %w0 lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g5 = nn.gelu %g4 {nn.role = "input_gradient"} : (!x) -> !x
  %b0 = nn.transpose %t0 permutation = [1, 0] {nn.role = "input_gradient"} : !x -> !x
  %g6 = nn.mul %g5, %b0 {nn.role = "input_gradient"} : (!x, !x) -> !x
  %g7 = nn.tanh %g6 {nn.role = "input_gradient"} : (!x) -> !x
  return %g7 : !x
}
}
