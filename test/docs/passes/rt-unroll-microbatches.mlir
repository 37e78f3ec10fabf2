// RUN: %doctest %s
// The body of the loop stands once for each of two microbatches, and their sums are added.
//--- before
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
//--- after
#mesh = #dist.mesh<[temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%arg0: tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>> {
    %0 = nn.reshape %arg0 {rt.microbatch = 0 : i64} : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<1x8x4xf32>
    %1 = nn.slice %0 starts = [0, 0, 0] strides = [1, 1, 1] {rt.microbatch = 0 : i64} : tensor<1x8x4xf32> -> tensor<1x4x4xf32>
    %2 = nn.reshape %1 {rt.microbatch = 0 : i64} : tensor<1x4x4xf32> -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %3 = nn.exp %2 {rt.microbatch = 0 : i64} : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %4 = nn.reduce  sum %3 dims = [0] {rt.microbatch = 0 : i64} : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>
    %5 = nn.reshape %arg0 {rt.microbatch = 1 : i64} : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<1x8x4xf32>
    %6 = nn.slice %5 starts = [0, 4, 0] strides = [1, 1, 1] {rt.microbatch = 1 : i64} : tensor<1x8x4xf32> -> tensor<1x4x4xf32>
    %7 = nn.reshape %6 {rt.microbatch = 1 : i64} : tensor<1x4x4xf32> -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %8 = nn.exp %7 {rt.microbatch = 1 : i64} : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %9 = nn.reduce  sum %8 dims = [0] {rt.microbatch = 1 : i64} : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>
    %10 = nn.add %4, %9 {rt.microbatch = 1 : i64} : (tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>, tensor<4xf32, #dist.local<#mesh, [4], partial = sum["mb"]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>>
    return %10 : tensor<4xf32, #dist.local<#mesh, [4]>>
  }
}
