// RUN: weft-opt %s --split-input-file --rt-unroll-microbatches | FileCheck %s

#mesh = #dist.mesh<["dp"=2, temporal "mb"=3]>
!stored = tensor<5x2xf32, #dist.local<#mesh, [10{"dp"}, 2]>>
!part = tensor<2x2xf32, #dist.local<#mesh, [10{"dp","mb"}, 2]>>
!partial = tensor<2xbf16, #dist.local<#mesh, [2], partial = sum["dp","mb"]>>
!sum = tensor<2xbf16, #dist.local<#mesh, [2], partial = sum["dp"]>>
!scattered = tensor<1xbf16, #dist.local<#mesh, [2{"dp"}], partial = sum["mb"]>>
!part_of_sum = tensor<1xbf16, #dist.local<#mesh, [2{"dp"}]>>
!either_partial = tensor<2xi32, #dist.local<#mesh, [2], partial = or["dp","mb"]>>
!either_part = tensor<2xi32, #dist.local<#mesh, [2], partial = or["mb"]>>
!either = tensor<2xi32, #dist.local<#mesh, [2]>>
module attributes {dist.mesh = #mesh} {

// The body stands once a microbatch; the third reaches beyond the end,
// which is padding. Sums are made in the type of
// accumulation and kept in that of the result.
// CHECK-LABEL: func.func @sums
// CHECK-NOT: dist.repeat
// CHECK: nn.slice {{.*}} starts = [0, 0, 0]
// CHECK: %[[P0:.+]] = rt.call @sum{{.*}}rt.microbatch = 0
// CHECK: nn.slice {{.*}} starts = [0, 2, 0]
// CHECK: %[[P1:.+]] = rt.call @sum
// CHECK: %[[S0:.+]] = nn.cast %[[P0]] {nn.role = "weight_gradient", rt.microbatch = 1 : i64} {{.*}} -> tensor<2xf32
// CHECK: %[[W1:.+]] = nn.cast %[[P1]]
// CHECK: %[[S1:.+]] = nn.add %[[S0]], %[[W1]] {nn.role = "weight_gradient", rt.microbatch = 1 : i64}
// CHECK: nn.cast %[[S1]] {{.*}} -> tensor<2xbf16
// CHECK: nn.pad
// CHECK: %[[S2:.+]] = nn.add
// CHECK: %[[R:.+]] = nn.cast %[[S2]] {{.*}} -> tensor<2xbf16
// CHECK: return %[[R]]
func.func @sums(%x: !stored) -> !sum {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !stored -> !part
    %2 = rt.call @sum(%1) {nn.role = "weight_gradient"} : (!part) -> !partial
    dist.accumulate %2 in [f32] : !partial
  } : !sum
  return %0 : !sum
}

// What came over the network is still a gradient.
// CHECK-LABEL: func.func @scattered
// CHECK: nn.add {{.*}} {nn.role = "weight_gradient", rt.microbatch = 1 : i64}
// CHECK: nn.add {{.*}} {nn.role = "weight_gradient", rt.microbatch = 2 : i64}
func.func @scattered(%x: !stored) -> !part_of_sum {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !stored -> !part
    %2 = rt.call @sum(%1) {nn.role = "weight_gradient"} : (!part) -> !partial
    %3 = dist.reduce_scatter %2 ["dp"] dim 0 accumulate f32 : !partial -> !scattered
    dist.accumulate %3 in [f32] : !scattered
  } : !part_of_sum
  return %0 : !part_of_sum
}
// Bits of integers are joined, of which neither is the greater.
// CHECK-LABEL: func.func @bits
// CHECK-NOT: nn.max
// CHECK: nn.or
// CHECK: nn.or
func.func @bits(%x: !stored) -> !either {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !stored -> !part
    %2 = rt.call @either(%1) : (!part) -> !either_partial
    %3 = dist.all_reduce %2 ["dp"] accumulate i32 : !either_partial -> !either_part
    dist.accumulate %3 in [i32] : !either_part
  } : !either
  return %0 : !either
}
func.func private @either(tensor<2x2xf32>) -> tensor<2xi32>
func.func private @sum(tensor<2x2xf32>) -> tensor<2xbf16>

// Rows go to their place in the result, one microbatch after the other; padding does not.
// CHECK-LABEL: func.func @rows
// CHECK: %[[Y0:.+]] = nn.exp {{.*}}rt.microbatch = 0
// CHECK: %[[V0:.+]] = nn.reshape %[[Y0]] {{.*}} -> tensor<1x2x2xf32>
// CHECK: %[[W0:.+]] = rt.put %[[V0]] at 0 {rt.microbatch = 0 : i64} : (tensor<1x2x2xf32>) -> tensor<5x2xf32
// CHECK: %[[W1:.+]] = rt.put %{{.+}} at 2 into %[[W0]] {rt.microbatch = 1 : i64}
// CHECK: %[[Y2:.+]] = nn.exp {{.*}}rt.microbatch = 2
// CHECK: %[[V2:.+]] = nn.reshape %[[Y2]]
// CHECK: %[[E2:.+]] = nn.slice %[[V2]] starts = [0, 0, 0] {{.*}} -> tensor<1x1x2xf32>
// CHECK: %[[W2:.+]] = rt.put %[[E2]] at 4 into %[[W1]]
// CHECK: return %[[W2]]
func.func @rows(%x: !stored) -> !stored {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : !stored -> !part
    %2 = nn.exp %1 : (!part) -> !part
    dist.accumulate %2 in [f32] : !part
  } : !stored
  return %0 : !stored
}

// A microbatch that is padding alone puts nothing.
// CHECK-LABEL: func.func @few
// CHECK: rt.put {{.*}} at 0 {
// CHECK: %[[W1:.+]] = rt.put {{.*}} at 1 into
// CHECK-NOT: rt.put
// CHECK: return %[[W1]]
func.func @few(%x: tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>>) -> tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>> {
  %0 = dist.repeat "mb" {
    %1 = dist.slice %x ["mb"] dim 0 : tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>> -> tensor<1xf32, #dist.local<#mesh, [4{"dp","mb"}]>>
    %2 = nn.exp %1 : (tensor<1xf32, #dist.local<#mesh, [4{"dp","mb"}]>>) -> tensor<1xf32, #dist.local<#mesh, [4{"dp","mb"}]>>
    dist.accumulate %2 in [f32] : tensor<1xf32, #dist.local<#mesh, [4{"dp","mb"}]>>
  } : tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>>
  return %0 : tensor<2xf32, #dist.local<#mesh, [4{"dp"}]>>
}
}

// -----

// The steps of a stage: forward passes of two microbatches, and then backward passes, the second first. Sums take
// microbatches in their order in any case. Where the loop says which actions its sections are, all that is made says it, too.
// CHECK-LABEL: func.func @steps
// CHECK: %[[F0:.+]] = rt.call @forward({{.*}}) {dist.section = 0 : i64, rt.action = "F0.0", rt.microbatch = 0 : i64}
// CHECK: dist.send %[[F0]] to 1 on "a" {dist.section = 2 : i64, rt.microbatch = 0 : i64}
// CHECK: %[[F1:.+]] = rt.call @forward({{.*}}) {dist.section = 0 : i64, rt.action = "F0.1", rt.microbatch = 1 : i64}
// CHECK: dist.send %[[F1]] to 1 on "a"
// CHECK: %[[R0:.+]] = dist.receive from 1 on "b" {dist.section = 3 : i64, rt.action = "D1.0", rt.microbatch = 0 : i64}
// CHECK: %[[R1:.+]] = dist.receive from 1 on "b" {dist.section = 3 : i64, rt.action = "D1.1", rt.microbatch = 1 : i64}
// CHECK: %[[B1:.+]] = rt.call @backward(%[[F1]], %[[R1]])
// CHECK: %[[B0:.+]] = rt.call @backward(%[[F0]], %[[R0]])
// CHECK-NEXT: %[[SUM:.+]] = nn.add %[[B0]], %[[B1]] {dist.section = 1 : i64, rt.microbatch = 1 : i64}
// CHECK-NEXT: return %[[SUM]]
#stages = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
!all = tensor<4x2xf32, #dist.local<#stages, [4, 2]>>
!rows = tensor<2x2xf32, #dist.local<#stages, [4{"mb"}, 2]>>
!addend = tensor<2xf32, #dist.local<#stages, [2], partial = sum["mb"]>>
!total = tensor<2xf32, #dist.local<#stages, [2]>>
module attributes {dist.mesh = #stages, weft.stage = 0 : i64} {
func.func @steps(%x: !all) -> !total {
  %0 = dist.repeat "mb" steps [0, 0, 2, 0, 0, 1, 2, 1, 3, 0, 3, 1, 1, 1, 1, 0] {
    %1 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : !all -> !rows
    %2 = rt.call @forward(%1) {dist.section = 0 : i64} : (!rows) -> !rows
    dist.send %2 to 1 on "a" {dist.section = 2 : i64} : !rows
    %3 = dist.receive from 1 on "b" {dist.section = 3 : i64} : !rows
    %4 = rt.call @backward(%2, %3) {dist.section = 1 : i64} : (!rows, !rows) -> !addend
    dist.accumulate %4 in [f32] : !addend
  } {dist.actions = {"0" = "F0", "3" = "D1"}} : !total
  return %0 : !total
}
func.func private @forward(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  return %x : tensor<2x2xf32>
}
func.func private @backward(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2xf32> {
  %0 = nn.reduce sum %x dims = [0] : tensor<2x2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
}
