// RUN: weft-opt %s --rt-unroll-microbatches --verify-diagnostics
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
