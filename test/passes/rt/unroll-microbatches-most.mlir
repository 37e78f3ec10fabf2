// Of a loop that is looked at and not run only the first bodies are written out.
// RUN: weft-opt %s --rt-unroll-microbatches=most=2 | FileCheck %s
// RUN: weft-opt %s --rt-unroll-microbatches=most=9 | FileCheck %s --check-prefix=ALL

#mesh = #dist.mesh<[temporal "mb"=4]>
!all = tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
!part = tensor<2x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
!addend = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>
!sum = tensor<4xf32, #dist.local<#mesh, [4]>>
module attributes {dist.mesh = #mesh} {
  // CHECK-LABEL: func.func @step
  // CHECK-COUNT-2: nn.exp
  // CHECK-NOT: nn.exp
  // ALL-LABEL: func.func @step
  // ALL-COUNT-4: nn.exp
  // ALL-NOT: nn.exp
  func.func @step(%x: !all) -> !sum {
    %0 = dist.repeat "mb" {
      %1 = dist.slice %x ["mb"] dim 0 : !all -> !part
      %2 = nn.exp %1 : !part
      %3 = nn.reduce sum %2 dims = [0] : !part -> !addend
      dist.accumulate %3 in [f32] : !addend
    } : !sum
    return %0 : !sum
  }
}
