// RUN: %doctest %s
// The sum over microbatches becomes the result of a loop over them.
//--- before
#mesh = #dist.mesh<[temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%x: tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>> {
    %0 = dist.slice %x ["mb"] dim 0 : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %1 = nn.exp %0 : (tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>) -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %2 = nn.reduce sum %1 dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>
    %3 = dist.all_reduce %2 ["mb"] accumulate f32 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>> -> tensor<4xf32, #dist.local<#mesh, [4]>>
    return %3 : tensor<4xf32, #dist.local<#mesh, [4]>>
  }
}
//--- after
#mesh = #dist.mesh<[temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%arg0: tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>> {
    %0 = dist.repeat "mb" {
      %1 = dist.slice %arg0 ["mb"] dim 0 : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
      %2 = nn.exp %1 : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
      %3 = nn.reduce  sum %2 dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>
      dist.accumulate %3 in [f32] : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>
    } : tensor<4xf32, #dist.local<#mesh, [4]>>
    return %0 : tensor<4xf32, #dist.local<#mesh, [4]>>
  }
}
