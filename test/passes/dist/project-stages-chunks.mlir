// RUN: split-file %s %t
// RUN: weft-opt %t/round.mlir --dist-verify-spmd --dist-project-stages=schedule=interleaved:2 | FileCheck %s --implicit-check-not=held --implicit-check-not=dist.place --implicit-check-not=dist.chunks
// RUN: weft-opt %t/folded.mlir --dist-verify-spmd --dist-project-stages=schedule=zb-v | FileCheck %s --check-prefix=WEIGHT
// RUN: not weft-opt %t/round.mlir --dist-project-stages 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not weft-opt %t/round.mlir --dist-project-stages=schedule=zb-v 2>&1 | FileCheck %s --check-prefix=FOLDED
// OTHER: error: the schedule has chunks of the model on stages 0, 1, but it was cut for chunks on stages 0, 1, 0, 1; choose a schedule for these, or cut the model anew (phase sharded)
// FOLDED: error: the schedule has chunks of the model on stages 0, 1, 1, 0, but it was cut for chunks on stages 0, 1, 0, 1;

//--- round.mlir
// Four chunks on two stages, two microbatches. A stage has sections for the passes over its first chunk (0 forward, 3 backward)
// and its second (1 and 2), so that it waits for the other between them. Six values cross in each microbatch: forward from
// chunk to chunk (7, 8, 9) and back (10, 11, 12). Both stages list them in one order.
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
!x = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!m = tensor<2x4xf32, #dist.local<#mesh, [4{"mb"}, 4]>>
!a0 = tensor<2x4xf32, #dist.local<#mesh, [4{"mb"}, 4], held = "pp"[0]>>
!a1 = tensor<2x4xf32, #dist.local<#mesh, [4{"mb"}, 4], held = "pp"[1]>>
!p0 = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"], held = "pp"[0]>>
!s0 = tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[0]>>
// CHECK: dist.schedule = "weft schedule 1\0Aranks 2  chunks 4  microbatches 2\0Aplace 0 1 0 1\0A
// CHECK-SAME: rank 0: F0.0 F0.1 F2.0 F2.1 D2.0 D2.1 D0.0 D0.1\0Arank 1: F1.0 F1.1 F3.0 D3.0 F3.1 D3.1 D1.0 D1.1
module attributes {dist.mesh = #mesh, dist.place = array<i64: 0, 1, 0, 1>} {
// CHECK: module @stage0
// CHECK: dist.repeat "mb" steps
// CHECK-SAME: [0, 0, 7, 0, 0, 1, 7, 1, 8, 0, 8, 1, 1, 0, 9, 0, 1, 1, 9, 1, 10, 0, 2, 0, 11, 0, 10, 1, 2, 1, 11, 1, 12, 0, 12, 1, 3, 0, 3, 1]
// CHECK: %[[M:.+]] = dist.slice {{.*}}dist.section = 0 : i64
// CHECK: nn.exp %[[M]] {dist.section = 0 : i64}
// CHECK: dist.receive from 1 on "nn.abs" {dist.section = 8 : i64}
// CHECK: nn.sin %{{.+}} {dist.section = 1 : i64}
// CHECK: dist.receive from 1 on "nn.cos" {dist.section = 10 : i64}
// CHECK: nn.sin %{{.+}} {dist.section = 2 : i64
// CHECK: dist.receive from 1 on "nn.abs#1" {dist.section = 12 : i64}
// CHECK: nn.exp %{{.+}} {dist.section = 3 : i64
// CHECK: nn.reduce {{.*}}dist.section = 3 : i64
// CHECK: module @stage1
// CHECK: dist.repeat "mb" steps [7, 0, 7, 1, 0, 0, 8, 0, 0, 1, 8, 1, 9, 0, 9, 1, 1, 0, 2, 0, 10, 0, 1, 1, 11, 0, 2, 1, 10, 1, 11, 1, 3, 0, 12, 0, 3, 1, 12, 1]
// CHECK: nn.abs %{{.+}} {dist.section = 0 : i64}
// CHECK: nn.cos %{{.+}} {dist.section = 1 : i64}
// The last chunk's backward pass follows its forward pass, and reads what it kept.
// CHECK: nn.cos %{{.+}} {dist.section = 2 : i64
// CHECK: nn.abs %{{.+}} {dist.section = 3 : i64
func.func @step(%x: !x {nn.name = "x"}) -> (!s0 {nn.name = "y"}) {
  %0 = dist.repeat "mb" {
    %m = dist.slice %x ["mb"] dim 0 {dist.chunks = array<i64: 0>} : !x -> !m
    %1 = nn.exp %m {dist.chunks = array<i64: 0>} : (!m) -> !a0
    %2 = dist.move %1 ["pp"] : !a0 -> !a1
    %3 = nn.abs %2 {dist.chunks = array<i64: 1>} : !a1
    %4 = dist.move %3 ["pp"] : !a1 -> !a0
    %5 = nn.sin %4 {dist.chunks = array<i64: 2>} : !a0
    %6 = dist.move %5 ["pp"] : !a0 -> !a1
    %7 = nn.cos %6 {dist.chunks = array<i64: 3>} : !a1
    %8 = nn.cos %7 {dist.chunks = array<i64: 3>, nn.role = "input_gradient"} : !a1
    %9 = dist.move %8 ["pp"] : !a1 -> !a0
    %10 = nn.sin %9 {dist.chunks = array<i64: 2>, nn.role = "input_gradient"} : !a0
    %11 = dist.move %10 ["pp"] : !a0 -> !a1
    %12 = nn.abs %11 {dist.chunks = array<i64: 1>, nn.role = "input_gradient"} : !a1
    %13 = dist.move %12 ["pp"] : !a1 -> !a0
    %14 = nn.exp %13 {dist.chunks = array<i64: 0>, nn.role = "input_gradient"} : !a0
    %15 = nn.reduce sum %14 dims = [0] {nn.role = "weight_gradient"} : !a0 -> !p0
    dist.accumulate %15 in [f32] : !p0
  } : !s0
  return %0 : !s0
}
}

//--- folded.mlir
// There and back: stage 0 has the first and the last chunk. The gradient of a weight may run any time after the backward pass of
// its chunk, so what it reads beside a later backward pass is made before both: in the backward pass of the last chunk (2).
// Neighbours on one stage are sections of their own, though nothing crosses between them.
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=4]>
!x = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!m = tensor<1x4xf32, #dist.local<#mesh, [4{"mb"}, 4]>>
!a0 = tensor<1x4xf32, #dist.local<#mesh, [4{"mb"}, 4], held = "pp"[0]>>
!a1 = tensor<1x4xf32, #dist.local<#mesh, [4{"mb"}, 4], held = "pp"[1]>>
!p0 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["mb"], held = "pp"[0]>>
!s0 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], held = "pp"[0]>>
module attributes {dist.mesh = #mesh, dist.place = array<i64: 0, 1, 1, 0>} {
// WEIGHT: module @stage0
// WEIGHT: %[[N:.+]] = dist.slice {{.*}}dist.section = 2 : i64
// WEIGHT: nn.exp %{{.+}} {dist.section = 0 : i64}
// WEIGHT: nn.sin %{{.+}} {dist.section = 1 : i64}
// WEIGHT: nn.cos %{{.+}} {dist.section = 2 : i64
// WEIGHT-NEXT: nn.contract %{{.+}}, %[[N]] {{.*}}dist.section = 5 : i64
// WEIGHT: nn.mul %{{.+}}, %[[N]] {dist.section = 3 : i64
// WEIGHT: module @stage1
// WEIGHT: nn.abs %{{.+}} {dist.section = 0 : i64}
// WEIGHT: nn.tanh %{{.+}} {dist.section = 1 : i64}
// WEIGHT: nn.tanh %{{.+}} {dist.section = 2 : i64
// WEIGHT: nn.abs %{{.+}} {dist.section = 3 : i64
func.func @step(%x: !x {nn.name = "x"}, %y: !x {nn.name = "y"}) -> (!s0 {nn.name = "g"}, !s0 {nn.name = "h"}) {
  %0:2 = dist.repeat "mb" {
    %m = dist.slice %x ["mb"] dim 0 : !x -> !m
    %n = dist.slice %y ["mb"] dim 0 : !x -> !m
    %1 = nn.exp %m {dist.chunks = array<i64: 0>} : (!m) -> !a0
    %2 = dist.move %1 ["pp"] : !a0 -> !a1
    %3 = nn.abs %2 {dist.chunks = array<i64: 1>} : !a1
    %4 = nn.tanh %3 {dist.chunks = array<i64: 2>} : !a1
    %5 = dist.move %4 ["pp"] : !a1 -> !a0
    %6 = nn.sin %5 {dist.chunks = array<i64: 3>} : !a0
    %7 = nn.cos %6 {dist.chunks = array<i64: 3>, nn.role = "input_gradient"} : !a0
    %8 = nn.contract %7, %n lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {dist.chunks = array<i64: 3>, nn.role = "weight_gradient"} : (!a0, !m) -> !p0
    %9 = dist.move %7 ["pp"] : !a0 -> !a1
    %10 = nn.tanh %9 {dist.chunks = array<i64: 2>, nn.role = "input_gradient"} : !a1
    %11 = nn.abs %10 {dist.chunks = array<i64: 1>, nn.role = "input_gradient"} : !a1
    %12 = dist.move %11 ["pp"] : !a1 -> !a0
    %13 = nn.mul %12, %n {dist.chunks = array<i64: 0>, nn.role = "input_gradient"} : (!a0, !m) -> !a0
    %14 = nn.contract %13, %m lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {dist.chunks = array<i64: 0>, nn.role = "input_gradient"} : (!a0, !m) -> !p0
    dist.accumulate %8, %14 in [f32, f32] : !p0, !p0
  } : !s0, !s0
  return %0#0, %0#1 : !s0, !s0
}
}
