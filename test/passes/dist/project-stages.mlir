// RUN: weft-opt %s --split-input-file --dist-verify-spmd --dist-project-stages | FileCheck %s --implicit-check-not=held
// RUN: weft-opt %s --split-input-file --dist-project-stages=schedule=gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: weft-opt %s --split-input-file --dist-project-stages=schedule=zb-h1 | FileCheck %s --check-prefix=ZERO

// Two stages, three microbatches. The module of a stage has what it holds, and no type says who holds a value.
// Sections of the loop are the forward pass (1), the backward pass (2), and what crosses: an activation (5) and its
// gradient (6). In 1f1b stage 1 does the first backward pass before it has the last microbatch; both stages list what
// crosses in one order: 5 of 0, 5 of 1, 6 of 0, ...
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=3]>
!x = tensor<6x4xf32, #dist.local<#mesh, [6, 4]>>
!m = tensor<2x4xf32, #dist.local<#mesh, [6{"mb"}, 4]>>
!a0 = tensor<2x4xf32, #dist.local<#mesh, [6{"mb"}, 4], held = "pp"[0]>>
!a1 = tensor<2x4xf32, #dist.local<#mesh, [6{"mb"}, 4], held = "pp"[1]>>
!w0 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], held = "pp"[0]>>
!w1 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], held = "pp"[1]>>
!g0 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["mb"], held = "pp"[0]>>
!g1 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["mb"], held = "pp"[1]>>
// CHECK: module attributes {dist.mesh = #mesh, dist.schedule = "weft schedule 1\0A{{.*}}rank 0: F0.0 F0.1 D0.0 F0.2 D0.1 D0.2\0A{{.*}}", rt.ports = {step = {{\[\[}}"x", "s"], []]}, weft.model = "m.onnx"}
module attributes {dist.mesh = #mesh, weft.model = "m.onnx"} {
// CHECK-NEXT: module @stage0 attributes {dist.mesh = #mesh, weft.stage = 0 : i64}
// CHECK-NEXT: func.func @step(%[[X:arg[0-9]+]]: tensor<6x4xf32, #dist.local<#mesh, [6, 4]>> {nn.name = "x"}, %[[W0:arg[0-9]+]]: {{.*}} {{{.*}}nn.name = "w0"}) -> ({{.*}} {nn.updates = "w0"}) {
// CHECK-NEXT: %[[G:.+]] = dist.repeat "mb" steps [1, 0, 5, 0, 1, 1, 5, 1, 6, 0, 2, 0, 6, 1, 1, 2, 5, 2, 2, 1, 6, 2, 2, 2] {
// CHECK-NEXT: %[[M:.+]] = dist.slice %[[X]] {{.*}}dist.section = 1 : i64
// CHECK-NEXT: %[[A:.+]] = nn.contract %[[M]], %[[W0]] {{.*}}dist.section = 1 : i64
// CHECK-NEXT: dist.send %[[A]] to 1 on "nn.contract" {dist.section = 5 : i64}
// CHECK-NEXT: %[[D:.+]] = dist.receive from 1 on "nn.contract#1" {dist.section = 6 : i64}
// CHECK-NEXT: %[[P:.+]] = nn.contract %[[M]], %[[D]] {{.*}}dist.section = 2 : i64
// CHECK-NEXT: dist.accumulate %[[P]] in [f32] :
// Sections are actions of the schedule; what crosses is of the one that sends it.
// CHECK-NEXT: } {dist.actions = {"1" = "F0", "2" = "D0", "5" = "F0", "6" = "D1"}
// CHECK-NEXT: %[[U:.+]] = nn.sub %[[W0]], %[[G]]
// CHECK-NEXT: return %[[U]] :
// CHECK: module @stage1 attributes {dist.mesh = #mesh, weft.stage = 1 : i64}
// CHECK-NEXT: func.func @step(%[[S:arg[0-9]+]]: {{.*}} {nn.name = "s"}, %[[W1:arg[0-9]+]]: {{.*}}nn.name = "w1"})
// What is made of an input alone is made where it is read: the slice, in the backward pass.
// CHECK-NEXT: %[[E:.+]] = nn.exp %[[S]]
// CHECK-NEXT: dist.repeat "mb" steps [5, 0, 5, 1, 1, 0, 2, 0, 6, 0, 1, 1, 2, 1, 6, 1, 5, 2, 1, 2, 2, 2, 6, 2] {
// CHECK-NEXT: %[[N:.+]] = dist.slice %[[E]] {{.*}}dist.section = 2 : i64
// CHECK-NEXT: %[[A:.+]] = dist.receive from 0 on "nn.contract" {dist.section = 5 : i64}
// CHECK-NEXT: nn.contract %[[A]], %[[W1]] {{.*}}dist.section = 1 : i64
// CHECK-NEXT: nn.mul {{.*}}, %[[N]] {dist.section = 2 : i64
// CHECK: %[[D:.+]] = nn.contract {{.*}}nn.role = "input_gradient"
// CHECK-NEXT: dist.send %[[D]] to 0 on "nn.contract#1" {dist.section = 6 : i64}
// CHECK: } {dist.actions = {"1" = "F1", "2" = "D1", "5" = "F0", "6" = "D1"}

// In gpipe backward passes follow all forward passes.
// GPIPE: steps [1, 0, 5, 0, 1, 1, 5, 1, 1, 2, 5, 2, 6, 0, 6, 1, 2, 0, 6, 2, 2, 1, 2, 2]
// GPIPE: steps [5, 0, 5, 1, 1, 0, 5, 2, 1, 1, 1, 2, 2, 0, 6, 0, 2, 1, 6, 1, 2, 2, 6, 2]

// Where a schedule puts them elsewhere, gradients of weights are a section of their own (3).
// ZERO: steps [1, 0, 5, 0, 1, 1, 5, 1, 6, 0, 6, 1, 3, 0, 1, 2, 5, 2, 6, 2, 3, 1, 3, 2]
// ZERO: nn.role = "weight_gradient"
// ZERO: } {dist.actions = {"1" = "F0", "2" = "B0", "3" = "W0", "5" = "F0", "6" = "B1"}
// ZERO: steps [5, 0, 5, 1, 1, 0, 2, 0, 6, 0, 1, 1, 2, 1, 6, 1, 5, 2, 3, 0, 1, 2, 2, 2, 6, 2, 3, 1, 3, 2]
// ZERO: dist.section = 3 : i64, nn.role = "weight_gradient"
// ZERO: dist.section = 2 : i64, nn.role = "input_gradient"
func.func @step(%x: !x {nn.name = "x"}, %s: !x {nn.name = "s"}, %w0: !w0 {nn.name = "w0", nn.initial = 0.0 : f32}, %w1: !w1 {nn.name = "w1", nn.initial = 0.0 : f32})
    -> (!w0 {nn.updates = "w0"}, !w1 {nn.updates = "w1"}) {
  %e = nn.exp %s : (!x) -> !x
  %g:2 = dist.repeat "mb" {
    %m = dist.slice %x ["mb"] dim 0 : !x -> !m
    %n = dist.slice %e ["mb"] dim 0 : !x -> !m
    %0 = nn.contract %m, %w0 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (!m, !w0) -> !a0
    %1 = dist.move %0 ["pp"] : !a0 -> !a1
    %2 = nn.contract %1, %w1 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (!a1, !w1) -> !a1
    %3 = nn.mul %2, %n {nn.role = "input_gradient"} : (!a1, !m) -> !a1
    %4 = nn.contract %1, %3 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (!a1, !a1) -> !g1
    %5 = nn.contract %3, %w1 lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (!a1, !w1) -> !a1
    %6 = dist.move %5 ["pp"] : !a1 -> !a0
    %7 = nn.contract %m, %6 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (!m, !a0) -> !g0
    dist.accumulate %7, %4 in [f32, f32] : !g0, !g1
  } : !w0, !w1
  %u0 = nn.sub %w0, %g#0 {nn.role = "optimizer"} : !w0
  %u1 = nn.sub %w1, %g#1 {nn.role = "optimizer"} : !w1
  return %u0, %u1 : !w0, !w1
}
}

// -----

// Both stages have the weight. Stage 0 awaits the sum of what stage 1 makes: that is in the backward pass (1), though gradients of weights are put off (2).
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=3]>
!x = tensor<6x4xf32, #dist.local<#mesh, [6, 4]>>
!m = tensor<2x4xf32, #dist.local<#mesh, [6{"mb"}, 4]>>
!a0 = tensor<2x4xf32, #dist.local<#mesh, [6{"mb"}, 4], held = "pp"[0]>>
!a1 = tensor<2x4xf32, #dist.local<#mesh, [6{"mb"}, 4], held = "pp"[1]>>
!w = tensor<4x4xf32, #dist.local<#mesh, [4, 4], held = "pp"[0,1]>>
!w0 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], held = "pp"[0]>>
!w1 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], held = "pp"[1]>>
!g0 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["mb"], held = "pp"[0]>>
!g1 = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["mb"], held = "pp"[1]>>
module attributes {dist.mesh = #mesh} {
// CHECK: module @stage0
// CHECK: nn.contract {{.*}}dist.section = 1 : i64, nn.role = "weight_gradient"
// CHECK: module @stage1
// CHECK: nn.contract {{.*}}dist.section = 1 : i64, nn.role = "weight_gradient"
// ZERO: module @stage0
// ZERO: nn.contract {{.*}}dist.section = 2 : i64, nn.role = "weight_gradient"
// ZERO: module @stage1
// ZERO: nn.contract {{.*}}dist.section = 1 : i64, nn.role = "weight_gradient"
func.func @shared(%x: !x {nn.name = "x"}, %w: !w {nn.name = "w", nn.initial = 0.0 : f32}) -> (!w {nn.updates = "w"}) {
  %g:2 = dist.repeat "mb" {
    %m = dist.slice %x ["mb"] dim 0 : !x -> !m
    %0 = nn.contract %m, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (!m, !w) -> !a0
    %1 = dist.move %0 ["pp"] : !a0 -> !a1
    %2 = nn.contract %1, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (!a1, !w) -> !a1
    %3 = nn.contract %1, %2 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (!a1, !a1) -> !g1
    %4 = nn.contract %2, %w lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (!a1, !w) -> !a1
    %5 = dist.move %4 ["pp"] : !a1 -> !a0
    %6 = nn.contract %m, %5 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (!m, !a0) -> !g0
    dist.accumulate %6, %3 in [f32, f32] : !g0, !g1
  } : !w0, !w1
  %there = dist.move %g#1 ["pp"] : !w1 -> !w0
  %sum = nn.add %g#0, %there {nn.role = "weight_gradient"} : !w0
  %both = dist.move %sum ["pp"] : !w0 -> !w
  %u = nn.sub %w, %both {nn.role = "optimizer"} : !w
  return %u : !w
}
}

// -----

// Outside of loops a section is as far as values have come. A move to all stages is one exchange with each that reads
// the value: stage 2 does not. An input that nobody reads is on the first stage. A sum over stages counts what some hold once.
#mesh = #dist.mesh<[stages "pp"=3]>
!all = tensor<4xf32, #dist.local<#mesh, [4]>>
!on0 = tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[0]>>
!on01 = tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[0,1]>>
!on1 = tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[1]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["pp"]>>
module attributes {dist.mesh = #mesh} {
// CHECK: module @stage0
// CHECK-NEXT: func.func @flat(%[[X:arg[0-9]+]]: {{.*}} {nn.name = "input0"}, {{.*}} {nn.name = "input1"}) -> ({{.*}} {nn.name = "output1"}) {
// CHECK-NEXT: %[[A:.+]] = nn.exp %[[X]] {dist.section = 0 : i64}
// CHECK-NEXT: dist.send %[[A]] to 1 on "nn.exp" {dist.section = 0 : i64}
// CHECK-NEXT: %[[NONE:.+]] = nn.constant {dist.section = 1 : i64} dense<0.000000e+00>
// CHECK-NEXT: %[[SUM:.+]] = dist.all_reduce %[[NONE]] ["pp"] accumulate f32 {dist.section = 1 : i64}
// CHECK-NEXT: return %[[SUM]]
// CHECK: module @stage1
// CHECK-NEXT: func.func @flat() -> ({{.*}} {nn.name = "output0"}, {{.*}} {nn.name = "output1"}) {
// CHECK-NEXT: %[[A:.+]] = dist.receive from 0 on "nn.exp" {dist.section = 0 : i64}
// CHECK-NEXT: %[[B:.+]] = nn.abs %[[A]] {dist.section = 1 : i64}
// CHECK-NEXT: %[[P:.+]] = nn.reshape %[[B]] {dist.section = 1 : i64}
// CHECK-NEXT: %[[SUM:.+]] = dist.all_reduce %[[P]]
// CHECK-NEXT: return %[[B]], %[[SUM]]
// CHECK: module @stage2
// CHECK-NEXT: func.func @flat() -> ({{.*}} {nn.name = "output1"}) {
// CHECK-NEXT: %[[NONE:.+]] = nn.constant
// CHECK-NEXT: %[[SUM:.+]] = dist.all_reduce %[[NONE]]
func.func @flat(%x: !all, %unread: !all) -> (!on1, !all) {
  %0 = nn.exp %x : (!all) -> !on0
  %1 = dist.move %0 ["pp"] : !on0 -> !all
  %2 = nn.abs %1 : (!all) -> !on1
  %3 = dist.partialize %2 ["pp"] : !on1 -> !partial
  %4 = dist.all_reduce %3 ["pp"] accumulate f32 : !partial -> !all
  return %2, %4 : !on1, !all
}
}

// -----

// A value that goes against the forward pass is read in the backward pass (1), and what goes against that in a late
// section (3), which runs when all passes of all microbatches have.
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
!x = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!m = tensor<2x4xf32, #dist.local<#mesh, [4{"mb"}, 4]>>
!a0 = tensor<2x4xf32, #dist.local<#mesh, [4{"mb"}, 4], held = "pp"[0]>>
!a1 = tensor<2x4xf32, #dist.local<#mesh, [4{"mb"}, 4], held = "pp"[1]>>
!p1 = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"], held = "pp"[1]>>
!s1 = tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[1]>>
module attributes {dist.mesh = #mesh} {
// CHECK: module @stage0
// CHECK: dist.repeat "mb" steps [4, 0, 4, 1, 1, 0, 5, 0, 1, 1, 5, 1] {
// CHECK: dist.receive from 1 on "nn.exp" {dist.section = 4 : i64}
// CHECK: nn.abs %{{.+}} {dist.section = 1 : i64}
// CHECK: dist.send {{.*}} to 1 on "nn.abs" {dist.section = 5 : i64}
// CHECK-NEXT: dist.accumulate in []
// CHECK: module @stage1
// CHECK: dist.repeat "mb" steps [0, 0, 4, 0, 0, 1, 4, 1, 5, 0, 5, 1, 3, 0, 3, 1] {
// CHECK: nn.exp %{{.+}} {dist.section = 0 : i64}
// CHECK: nn.reduce {{.*}}dist.section = 3 : i64
func.func @against(%x: !x {nn.name = "x"}) -> (!s1 {nn.name = "y"}) {
  %0 = dist.repeat "mb" {
    %m = dist.slice %x ["mb"] dim 0 : !x -> !m
    %1 = nn.exp %m : (!m) -> !a1
    %2 = dist.move %1 ["pp"] : !a1 -> !a0
    %3 = nn.abs %2 : (!a0) -> !a0
    %4 = dist.move %3 ["pp"] : !a0 -> !a1
    %5 = nn.reduce sum %4 dims = [0] : !a1 -> !p1
    dist.accumulate %5 in [f32] : !p1
  } : !s1
  return %0 : !s1
}
}
