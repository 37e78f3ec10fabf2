// RUN: weft-opt %s --dist-partition --split-input-file --verify-diagnostics
// The pass is given what dist-verify-spmd would have refused, and refuses it, too.

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @no_placement(%x: tensor<8xf32, #dist.placement<#mesh, [8]>>) {
  // expected-error @below {{'nn.cast' has a value without placement: 'tensor<8xf64>'}}
  %0 = nn.cast %x : (tensor<8xf32, #dist.placement<#mesh, [8]>>) -> tensor<8xf64>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @inconsistent(%x: tensor<8xf32, #dist.placement<#mesh, [8{"tp"}]>>) {
  // expected-note @below {{operand 0 is made here, as [8{"tp"}]}}
  %n = nn.tanh %x : (tensor<8xf32, #dist.placement<#mesh, [8{"tp"}]>>) -> tensor<8xf32, #dist.placement<#mesh, [8{"tp"}]>>
  // expected-error @below {{'nn.exp' is not consistent: result 0 holds a factor of size 8 as 8, another operand or result as 8{"tp"}}}
  %0 = nn.exp %n : (tensor<8xf32, #dist.placement<#mesh, [8{"tp"}]>>) -> tensor<8xf32, #dist.placement<#mesh, [8]>>
  return
}
}
