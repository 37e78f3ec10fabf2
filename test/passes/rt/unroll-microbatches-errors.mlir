// RUN: weft-opt %s --split-input-file --rt-unroll-microbatches --verify-diagnostics
// Nothing but a slice is taken of a microbatch in its loop.

#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @loop(%x: tensor<8xf32, #dist.local<#mesh, [8]>> {nn.name = "x"}) -> (tensor<8xf32, #dist.local<#mesh, [8]>> {nn.name = "y"}) {
  %1 = dist.repeat "mb" {
    // expected-error @below {{runs over microbatches, which only a slice does in a loop}}
    %0 = dist.partialize %x ["mb"] : tensor<8xf32, #dist.local<#mesh, [8]>> -> tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>
    dist.accumulate %0 in [f32] : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>
  } : tensor<8xf32, #dist.local<#mesh, [8]>>
  return %1 : tensor<8xf32, #dist.local<#mesh, [8]>>
}
}

// -----

// What a section reads of its microbatch is made in one before it.
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
!all = tensor<4x2xf32, #dist.local<#mesh, [4, 2]>>
!rows = tensor<2x2xf32, #dist.local<#mesh, [4{"mb"}, 2]>>
module attributes {dist.mesh = #mesh, weft.stage = 0 : i64} {
func.func @steps(%x: !all) -> !all {
  %0 = dist.repeat "mb" steps [0, 0, 1, 0, 0, 1, 1, 1] {
    %1 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : !all -> !rows
    // expected-note @below {{it is made here}}
    %2 = nn.exp %1 {dist.section = 1 : i64} : !rows
    // expected-error @below {{reads what is made in a later section of its microbatch}}
    %3 = nn.tanh %2 {dist.section = 0 : i64} : !rows
    dist.accumulate %3 in [f32] : !rows
  } : !all
  return %0 : !all
}
}
