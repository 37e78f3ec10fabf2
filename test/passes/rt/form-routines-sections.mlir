// RUN: weft-opt %s --rt-form-routines | FileCheck %s
// The sections of a stage. One of which all values are made again by those that read them has nothing to call.

// CHECK-NOT: func.func private @sum
// CHECK: func.func private @forward_1
// CHECK-NEXT: nn.sigmoid %{{.+}} {dist.section = 2 : i64}
// CHECK-LABEL: func.func @steps
// CHECK-COUNT-2: rt.call @forward(
// CHECK-NEXT: rt.call @start()
// CHECK-COUNT-2: rt.call @forward_1(
// CHECK-NEXT: return
#stages = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
!all = tensor<8x64xf32, #dist.local<#stages, [8, 64]>>
!rows = tensor<4x64xf32, #dist.local<#stages, [8{"mb"}, 64]>>
!w = tensor<64x64xf32, #dist.local<#stages, [64, 64]>>
!addend = tensor<64xf32, #dist.local<#stages, [64], partial = sum["mb"]>>
!total = tensor<64xf32, #dist.local<#stages, [64]>>
module attributes {dist.mesh = #stages, weft.stage = 0 : i64} {
func.func @steps(%x: !all, %w: !w) -> !total {
  %0 = dist.repeat "mb" steps [0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1] {
    %1 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : !all -> !rows
    %2 = nn.contract %1, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {dist.section = 0 : i64} : (!rows, !w) -> !rows
    %3 = nn.sigmoid %2 {dist.section = 1 : i64} : !rows
    %4 = nn.mul %3, %2 {dist.section = 2 : i64} : !rows
    %5 = nn.contract %4, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {dist.section = 2 : i64} : (!rows, !w) -> !rows
    %6 = nn.reduce sum %5 dims = [0] {dist.section = 2 : i64} : !rows -> !addend
    dist.accumulate %6 in [f32] : !addend
  } : !total
  return %0 : !total
}
}
