// RUN: %doctest %s
// A sum over `tp` is still due where the function returns: the devices would return different, wrong values.
//--- before
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  // expected-error @below {{result 0 is partial: [4], partial = sum["tp"]}}
  func.func @forward(%x: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>> {
    // expected-note @below {{this op leaves the sum to its consumers}}
    %0 = nn.reduce sum %x dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>>
    return %0 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>>
  }
}
