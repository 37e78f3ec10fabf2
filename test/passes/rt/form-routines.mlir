// RUN: weft-opt %s --rt-form-routines=bucket-bytes=32 --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: weft-opt %s --rt-form-routines | FileCheck %s --check-prefix=BUCKET
// RUN: weft-opt %s --rt-form-routines --rt-inline-routines | FileCheck %s --check-prefix=INLINED
// INLINED-NOT: rt.routine
// INLINED-NOT: dist.repeat

#mesh = #dist.mesh<["dp"=2, temporal "mb"=3]>
!x = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!w = tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
!batch = tensor<5x4xf32, #dist.local<#mesh, [10{"dp"}, 4]>>
!part = tensor<2x4xf32, #dist.local<#mesh, [10{"dp","mb"}, 4]>>
!partial = tensor<4x4xbf16, #dist.local<#mesh, [4, 4], partial = sum["dp","mb"]>>
!sum = tensor<4x4xbf16, #dist.local<#mesh, [4, 4], partial = sum["dp"]>>
!wide_partial = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["dp","mb"]>>
!wide_sum = tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["dp"]>>
!partial_largest = tensor<4xf32, #dist.local<#mesh, [4], partial = max["dp","mb"]>>
!largest = tensor<4xf32, #dist.local<#mesh, [4], partial = max["dp"]>>
!partial_count = tensor<1xi64, #dist.local<#mesh, [1], partial = sum["dp","mb"]>>
!count = tensor<1xi64, #dist.local<#mesh, [1], partial = sum["dp"]>>
!scattered = tensor<2x4xbf16, #dist.local<#mesh, [4{"dp"}, 4], partial = sum["mb"]>>
!stored = tensor<2x4xf32, #dist.local<#mesh, [4{"dp"}, 4]>>
!scattered_sum = tensor<2x4xbf16, #dist.local<#mesh, [4{"dp"}, 4]>>
module attributes {dist.mesh = #mesh} {

// Three blocks are three calls. What varies is an argument, which a constant of the program is. Names are what the blocks
// have in common.
// CHECK: func.func private @forward(%[[X:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: {{.*}}) {{.*}}rt.routine
// CHECK: nn.contract %[[X]], %[[W]] {{.*}} loc("/{}/fc")
// CHECK: nn.mul %{{.*}}, %[[C]] {{.*}} loc("/{}/Mul")
// CHECK: nn.add {{.*}} loc("/h.*")
// CHECK-LABEL: func.func @blocks
// CHECK: %[[C0:.+]] = nn.constant dense<2.0
// CHECK: %[[H0:.+]] = rt.call @forward(%arg0, %arg1, %[[C0]]) {label = "h.0"}
// CHECK: %[[C1:.+]] = nn.constant dense<3.0
// CHECK: %[[H1:.+]] = rt.call @forward(%[[H0]], %arg2, %[[C1]]) {label = "h.1"}
// CHECK: %[[H2:.+]] = rt.call @forward(%[[H1]], %arg3, %[[C0]]) {label = "h.2"}
// CHECK: nn.exp %[[H2]]
func.func @blocks(%x: !x {nn.name = "x"}, %w0: !w {nn.name = "w0", nn.initial = 1.0 : f32}, %w1: !w {nn.name = "w1", nn.initial = 1.0 : f32},
    %w2: !w {nn.name = "w2", nn.initial = 1.0 : f32}) -> !x {
  %c0 = nn.constant dense<2.0> : tensor<4x4xf32> : !x
  %0 = nn.contract %x, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x loc("/h.0/fc")
  %1 = nn.gelu %0 : (!x) -> !x loc("/h.0/act")
  %2 = nn.contract %1, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x loc("/h.0/proj")
  %3 = nn.mul %2, %c0 : (!x, !x) -> !x loc("/h.0/Mul")
  %4 = nn.add %3, %x : (!x, !x) -> !x loc("/h.0/Add_1")
  %c1 = nn.constant dense<3.0> : tensor<4x4xf32> : !x
  %5 = nn.contract %4, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x loc("/h.1/fc")
  %6 = nn.gelu %5 : (!x) -> !x loc("/h.1/act")
  %7 = nn.contract %6, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x loc("/h.1/proj")
  %8 = nn.mul %7, %c1 : (!x, !x) -> !x loc("/h.1/Mul")
  %9 = nn.add %8, %4 : (!x, !x) -> !x loc("/h.1/Add_3")
  %10 = nn.contract %9, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x loc("/h.2/fc")
  %11 = nn.gelu %10 : (!x) -> !x loc("/h.2/act")
  %12 = nn.contract %11, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!x, !w) -> !x loc("/h.2/proj")
  %13 = nn.mul %12, %c0 : (!x, !x) -> !x loc("/h.2/Mul")
  %14 = nn.add %13, %9 : (!x, !x) -> !x loc("/h.2/Add_5")
  %15 = nn.exp %14 : (!x) -> !x loc("/exp")
  return %15 : !x
}

// Microbatches are calls of one routine, which takes the sum so far as its last argument and overwrites it; all in the type
// of accumulation. The sum of nothing is -0.0: 0.0 would make 0.0 of a first addend -0.0. The coordinate is a constant, the
// third slice padding and all.
// CHECK: func.func private @backward({{.*}}, %[[SUM:[a-z0-9]+]]: {{[^%]*}}) {{.*}}rt.in_place = array<i64: 3>, rt.routine
// CHECK: %[[V:.+]] = rt.call @use
// CHECK: %[[SW:.+]] = nn.cast %[[SUM]] {nn.role = "weight_gradient"} {{.*}} -> tensor<4x4xf32
// CHECK: %[[VW:.+]] = nn.cast %[[V]]
// CHECK: %[[A:.+]] = nn.add %[[SW]], %[[VW]] {nn.role = "weight_gradient"}
// CHECK: nn.cast %[[A]] {{.*}} -> tensor<4x4xbf16
// CHECK: func.func private @start() {{.*}}rt.routine
// CHECK: %[[Z:.+]] = nn.constant dense<-0.000000e+00> : tensor<bf16>
// CHECK: %[[N:.+]] = nn.broadcast %[[Z]] dims = [] {nn.role = "weight_gradient"} : {{.*}} -> tensor<4x4xbf16
// CHECK: return %[[N]]
// CHECK-LABEL: func.func @sums
// CHECK-NOT: dist.repeat
// CHECK: nn.slice {{.*}} starts = [0, 0, 0]
// CHECK: %[[S:.+]] = rt.call @start() {microbatch = 0 : i64}
// CHECK: %[[I0:.+]] = nn.constant {{.*}}dense<0> : tensor<1xi64>
// CHECK: %[[S0:.+]] = rt.call @backward(%{{.+}}, %arg1, %[[I0]], %[[S]]) {microbatch = 0 : i64}
// CHECK: nn.slice {{.*}} starts = [0, 2, 0]
// CHECK-NOT: rt.call @start
// CHECK: %[[S1:.+]] = rt.call @backward(%{{.+}}, %arg1, %{{.+}}, %[[S0]]) {microbatch = 1 : i64}
// CHECK: nn.pad
// CHECK: %[[S2:.+]] = rt.call @backward(%{{.+}}, %arg1, %{{.+}}, %[[S1]]) {microbatch = 2 : i64}
// CHECK: return %[[S2]]
func.func @sums(%x: !batch {nn.name = "x"}, %w: !w {nn.name = "w", nn.initial = 1.0 : f32}) -> !sum {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !batch -> !part
    %i = rt.coordinate "mb" : tensor<1xi64>
    %2 = rt.call @use(%1, %w, %i) {nn.role = "weight_gradient"} : (!part, !w, tensor<1xi64>) -> !partial
    dist.accumulate %2 in [f32] : !partial
  } : !sum
  return %0 : !sum
}
func.func private @use(tensor<2x4xf32>, tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x4xbf16>

// A maximum starts as what is less than all, a count as 0, and sums of one kind share the number that they start as.
// CHECK: func.func private @start_1()
// CHECK: %[[LEAST:.+]] = nn.constant dense<0xFF800000> : tensor<f32>
// CHECK: nn.broadcast %[[LEAST]]
// CHECK: %[[NONE:.+]] = nn.constant dense<0> : tensor<i64>
// CHECK: nn.broadcast %[[NONE]]
// CHECK: nn.broadcast %[[LEAST]]
// CHECK-LABEL: func.func @kinds
// CHECK: rt.call @start_1()
func.func @kinds(%x: !batch {nn.name = "x"}) -> (!largest, !count, !largest) {
  %0:3 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !batch -> !part
    %2:3 = rt.call @use3(%1) : (!part) -> (!partial_largest, !partial_count, !partial_largest)
    dist.accumulate %2#0, %2#1, %2#2 in [f32, i64, f32] : !partial_largest, !partial_count, !partial_largest
  } : !largest, !count, !largest
  return %0#0, %0#1, %0#2 : !largest, !count, !largest
}
func.func private @use3(tensor<2x4xf32>) -> (tensor<4xf32>, tensor<1xi64>, tensor<4xf32>)

// What travels in every microbatch and nothing waits for stays in the program, and is added up behind it.
// CHECK: func.func private @sum({{.*}}rt.in_place = array<i64: 1>, rt.routine
// CHECK-LABEL: func.func @scattered
// CHECK: %[[P0:.+]] = rt.call @forward_{{[0-9]+}}({{.*}}microbatch = 0
// CHECK: %[[S0:.+]] = dist.reduce_scatter %[[P0]]
// CHECK: %[[P1:.+]] = rt.call @forward_{{[0-9]+}}({{.*}}microbatch = 1
// CHECK: %[[R1:.+]] = dist.reduce_scatter %[[P1]]
// CHECK: %[[S1:.+]] = rt.call @sum(%[[R1]], %[[S0]]) {microbatch = 1 : i64}
func.func @scattered(%x: !batch {nn.name = "x"}, %w: !w {nn.name = "w", nn.initial = 1.0 : f32}) -> !scattered_sum {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !batch -> !part
    %2 = rt.call @use2(%1, %w) : (!part, !w) -> !partial
    %3 = dist.reduce_scatter %2 ["dp"] dim 0 accumulate f32 : !partial -> !scattered
    dist.accumulate %3 in [f32] : !scattered
  } : !scattered_sum
  return %0 : !scattered_sum
}
func.func private @use2(tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<4x4xbf16>

// Rows are put in place behind the routine that makes them, which is one for all microbatches.
// CHECK-LABEL: func.func @rows
// CHECK: %[[R0:.+]] = rt.call @forward_{{[0-9]+}}({{.*}}microbatch = 0
// CHECK: %[[W0:.+]] = rt.put %{{.+}} at 0 {rt.microbatch = 0 : i64}
// CHECK: %[[R1:.+]] = rt.call @forward_{{[0-9]+}}({{.*}}microbatch = 1
// CHECK: %[[W1:.+]] = rt.put %{{.+}} at 2 into %[[W0]]
// CHECK: rt.call @forward_{{[0-9]+}}({{.*}}microbatch = 2
// CHECK: %[[W2:.+]] = rt.put %{{.+}} at 4 into %[[W1]]
// CHECK: return %[[W2]]
func.func @rows(%x: !batch {nn.name = "x"}, %w: !w {nn.name = "w", nn.initial = 1.0 : f32}) -> !batch {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !batch -> !part
    %2 = nn.contract %1, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !w) -> !part
    dist.accumulate %2 in [f32] : !part
  } : !batch
  return %0 : !batch
}

// Where a routine has a product in front of the reader of a gather, or behind what makes the operand of a scatter, they are
// in it; what its first product reads and its last one makes travels beside other calls.
// CHECK: func.func private @[[BOTH:forward_[0-9]+]]({{.*}}rt.routine
// CHECK: nn.contract
// CHECK-NEXT: %[[W:.+]] = dist.all_gather
// CHECK-NEXT: nn.contract %{{.+}}, %[[W]]
// CHECK-NEXT: %[[P:.+]] = rt.call @use2
// CHECK-NEXT: dist.reduce_scatter %[[P]]
// CHECK-NEXT: nn.contract
// CHECK-NEXT: rt.call @use2
// CHECK: return
// CHECK-LABEL: func.func @overlapping
// CHECK: %[[V0:.+]] = dist.all_gather %arg1
// CHECK: %[[P0:.+]]:2 = rt.call @[[BOTH]](%{{.+}}, %[[V0]], %arg2
// CHECK: dist.reduce_scatter %[[P0]]#{{[01]}}
// If a bucket holds all that is gathered, or scattered, it stays in the program.
// BUCKET-LABEL: func.func @overlapping
// BUCKET: dist.all_gather
// BUCKET: dist.all_gather
// BUCKET: rt.call @
// BUCKET: dist.reduce_scatter
// BUCKET: dist.reduce_scatter
func.func @overlapping(%x: !batch {nn.name = "x"}, %v: !stored {nn.name = "v", nn.initial = 1.0 : f32},
    %w: !stored {nn.name = "w", nn.initial = 1.0 : f32}) -> (!scattered_sum, !scattered_sum) {
  %0:2 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !batch -> !part
    %gv = dist.all_gather %v ["dp"] dim 0 : !stored -> !w
    %gw = dist.all_gather %w ["dp"] dim 0 : !stored -> !w
    %2 = nn.contract %1, %gv lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !w) -> !part
    %3 = nn.contract %2, %gw lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !w) -> !part
    %4 = rt.call @use2(%3, %gw) : (!part, !w) -> !partial
    %5 = dist.reduce_scatter %4 ["dp"] dim 0 accumulate f32 : !partial -> !scattered
    %6 = nn.contract %3, %gw lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !w) -> !part
    %7 = rt.call @use2(%6, %gw) : (!part, !w) -> !partial
    %8 = dist.reduce_scatter %7 ["dp"] dim 0 accumulate f32 : !partial -> !scattered
    dist.accumulate %5, %8 in [f32, f32] : !scattered, !scattered
  } : !scattered_sum, !scattered_sum
  return %0#0, %0#1 : !scattered_sum, !scattered_sum
}

// New values of states overwrite them; a state that is read later is not.
// CHECK: func.func private @update(%{{[a-z0-9]+}}: {{.*}}, %{{[a-z0-9]+}}: {{.*}}rt.in_place = array<i64: 1>, rt.routine
// CHECK-LABEL: func.func @updates
// CHECK: rt.call @update(%arg0, %arg2)
// CHECK: rt.call @update(%arg1, %arg3)
func.func @updates(%g0: !x {nn.name = "g0"}, %g1: !x {nn.name = "g1"}, %w0: !w {nn.name = "w0", nn.initial = 1.0 : f32},
    %w1: !w {nn.name = "w1", nn.initial = 1.0 : f32}) -> (!w {nn.updates = "w0"}, !w {nn.updates = "w1"}) {
  %0 = nn.contract %g0, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "optimizer"} : (!x, !w) -> !w
  %1 = nn.gelu %0 {nn.role = "optimizer"} : (!w) -> !w
  %2 = nn.mul %1, %w0 {nn.role = "optimizer"} : (!w, !w) -> !w
  %3 = nn.add %2, %w0 {nn.role = "optimizer"} : (!w, !w) -> !w
  %4 = nn.contract %g1, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "optimizer"} : (!x, !w) -> !w
  %5 = nn.gelu %4 {nn.role = "optimizer"} : (!w) -> !w
  %6 = nn.mul %5, %w1 {nn.role = "optimizer"} : (!w, !w) -> !w
  %7 = nn.add %6, %w1 {nn.role = "optimizer"} : (!w, !w) -> !w
  return %3, %7 : !w, !w
}

// CHECK-LABEL: func.func @kept
// CHECK: rt.call @update_1(%arg0, %arg2)
// CHECK: rt.call @update(%arg1, %arg3)
func.func @kept(%g0: !x {nn.name = "g0"}, %g1: !x {nn.name = "g1"}, %w0: !w {nn.name = "w0", nn.initial = 1.0 : f32},
    %w1: !w {nn.name = "w1", nn.initial = 1.0 : f32}) -> (!w {nn.updates = "w0"}, !w {nn.updates = "w1"}, !w) {
  %0 = nn.contract %g0, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "optimizer"} : (!x, !w) -> !w
  %1 = nn.gelu %0 {nn.role = "optimizer"} : (!w) -> !w
  %2 = nn.mul %1, %w0 {nn.role = "optimizer"} : (!w, !w) -> !w
  %3 = nn.add %2, %w0 {nn.role = "optimizer"} : (!w, !w) -> !w
  %4 = nn.contract %g1, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "optimizer"} : (!x, !w) -> !w
  %5 = nn.gelu %4 {nn.role = "optimizer"} : (!w) -> !w
  %6 = nn.mul %5, %w1 {nn.role = "optimizer"} : (!w, !w) -> !w
  %7 = nn.add %6, %w1 {nn.role = "optimizer"} : (!w, !w) -> !w
  return %3, %7, %w0 : !w, !w, !w
}

// A sum of products begins in a routine of its own if its products may take it in. Those that are wider while they are added
// up may not, so that one routine makes all of them.
// CHECK-LABEL: func.func @products
// CHECK: rt.call @start{{[_0-9]*}}() {{.*}} -> tensor<4x4xf32,
// CHECK-NEXT: rt.call @start{{[_0-9]*}}() {{.*}} -> tensor<4x4xf32,
// CHECK-NEXT: rt.call @start{{[_0-9]*}}() {{.*}} -> (tensor<4x4xbf16, {{.*}}, tensor<4x4xbf16,
func.func @products(%x: !batch {nn.name = "x"}) -> (!sum, !sum, !wide_sum, !wide_sum) {
  %0:4 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !batch -> !part
    %2 = nn.contract %1, %1 lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !part) -> !partial
    %3 = nn.contract %1, %1 lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !part) -> !partial
    %4 = nn.contract %1, %1 lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !part) -> !wide_partial
    %5 = nn.contract %1, %1 lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!part, !part) -> !wide_partial
    dist.accumulate %2, %3, %4, %5 in [f32, f32, f32, f32] : !partial, !partial, !wide_partial, !wide_partial
  } : !sum, !sum, !wide_sum, !wide_sum
  return %0#0, %0#1, %0#2, %0#3 : !sum, !sum, !wide_sum, !wide_sum
}
}
