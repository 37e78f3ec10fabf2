// RUN: %doctest %s
// An all_reduce of which each device keeps its slice is a reduce_scatter, which moves half the bytes.
//--- before
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%x: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>> {
    %0 = nn.reduce sum %x dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>>
    %1 = dist.all_reduce %0 ["tp"] accumulate f32 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>> -> tensor<4xf32, #dist.local<#mesh, [4]>>
    %2 = dist.slice %1 ["tp"] dim 0 : tensor<4xf32, #dist.local<#mesh, [4]>> -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
    return %2 : tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
  }
}
//--- after
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%arg0: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>> {
    %0 = nn.reduce  sum %arg0 dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>>
    %1 = dist.reduce_scatter %0 ["tp"] dim 0 accumulate f32 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>> -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
    return %1 : tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
  }
}
