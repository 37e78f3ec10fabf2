// RUN: weft-opt %s --rt-form-routines --mlir-print-local-scope | FileCheck %s

#mesh = #dist.mesh<["dp"=2]>
!x = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!w = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!shard = tensor<2x4xf32, #dist.local<#mesh, [4{"dp"}, 4]>>
module attributes {dist.mesh = #mesh} {

// A period ends where no kernel is parted, although there is one period less like that.
// CHECK: func.func private @forward(
// CHECK-NEXT: nn.contract
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.gelu
// CHECK-NEXT: nn.mul
// CHECK-NEXT: return
// CHECK-LABEL: func.func @phase
// CHECK: %[[G:.+]] = nn.gelu %arg0
// CHECK: %[[H0:.+]] = nn.mul %[[G]], %[[G]]
// CHECK: %[[H1:.+]] = rt.call @forward(%[[H0]], %arg1)
// CHECK: %[[H2:.+]] = rt.call @forward(%[[H1]], %arg2)
// CHECK: %[[C:.+]] = nn.contract %[[H2]], %arg3
// CHECK: nn.add %[[C]], %[[C]]
func.func @phase(%x: !x {nn.name = "x"}, %w0: !w {nn.name = "w0", nn.initial = 1.0 : f32}, %w1: !w {nn.name = "w1", nn.initial = 1.0 : f32},
    %w2: !w {nn.name = "w2", nn.initial = 1.0 : f32}) -> !x {
  %0 = nn.gelu %x : (!x) -> !x
  %1 = nn.mul %0, %0 : (!x, !x) -> !x
  %2 = nn.contract %1, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x
  %3 = nn.add %2, %2 : (!x, !x) -> !x
  %4 = nn.gelu %3 : (!x) -> !x
  %5 = nn.mul %4, %4 : (!x, !x) -> !x
  %6 = nn.contract %5, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x
  %7 = nn.add %6, %6 : (!x, !x) -> !x
  %8 = nn.gelu %7 : (!x) -> !x
  %9 = nn.mul %8, %8 : (!x, !x) -> !x
  %10 = nn.contract %9, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x
  %11 = nn.add %10, %10 : (!x, !x) -> !x
  return %11 : !x
}

// What gathers a state can run ahead, so it stays out of the routines, in front of its reader.
// CHECK-LABEL: func.func @gathered
// CHECK: %[[W0:.+]] = dist.all_gather %arg1
// CHECK: %[[H0:.+]] = rt.call @[[BLOCK:.+]](%arg0, %[[W0]])
// CHECK: %[[W1:.+]] = dist.all_gather %arg2
// CHECK: rt.call @[[BLOCK]](%[[H0]], %[[W1]])
// CHECK-NOT: dist.all_gather
func.func @gathered(%x: !x {nn.name = "x"}, %s0: !shard {nn.name = "w0", nn.initial = 1.0 : f32}, %s1: !shard {nn.name = "w1", nn.initial = 1.0 : f32}) -> !x {
  %w0 = dist.all_gather %s0 ["dp"] dim 0 : !shard -> !w
  %0 = nn.contract %x, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x
  %1 = nn.tanh %0 : (!x) -> !x
  %2 = nn.contract %1, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x
  %3 = nn.exp %2 : (!x) -> !x
  %w1 = dist.all_gather %s1 ["dp"] dim 0 : !shard -> !w
  %4 = nn.contract %3, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x
  %5 = nn.tanh %4 : (!x) -> !x
  %6 = nn.contract %5, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x
  %7 = nn.exp %6 : (!x) -> !x
  return %7 : !x
}
}
