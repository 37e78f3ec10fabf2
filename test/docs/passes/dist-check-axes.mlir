// RUN: %doctest %s
// Nothing is split over `tp`, so both of its processes would compute the same.
//--- before
#mesh = #dist.mesh<["tp"=2]>
// expected-error @below {{axis tp=2 splits nothing}}
module attributes {dist.mesh = #mesh} {
  func.func @forward(%x: tensor<8x16xf32, #dist.placement<#mesh, [8, 16]>>) -> tensor<8x16xf32, #dist.placement<#mesh, [8, 16]>> {
    %0 = nn.exp %x : (tensor<8x16xf32, #dist.placement<#mesh, [8, 16]>>) -> tensor<8x16xf32, #dist.placement<#mesh, [8, 16]>>
    return %0 : tensor<8x16xf32, #dist.placement<#mesh, [8, 16]>>
  }
}
