// RUN: %doctest %s
// The body of the loop is a routine, which each of two microbatches calls; the second adds to the sum of the first.
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
  func.func private @forward(%arg0: tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>, %arg1: tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>> attributes {rt.in_place = array<i64: 1>, rt.routine} {
    %0 = nn.exp %arg0 : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %1 = nn.reduce  sum %0 dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4]>>
    %2 = nn.add %arg1, %1 : tensor<4xf32, #dist.local<#mesh, [4]>>
    return %2 : tensor<4xf32, #dist.local<#mesh, [4]>>
  }
  func.func private @start() -> tensor<4xf32, #dist.local<#mesh, [4]>> attributes {rt.routine} {
    %0 = nn.constant dense<-0.000000e+00> : tensor<f32> : tensor<f32>
    %1 = nn.broadcast %0 dims = [] : tensor<f32> -> tensor<4xf32, #dist.local<#mesh, [4]>>
    return %1 : tensor<4xf32, #dist.local<#mesh, [4]>>
  }
  func.func @step(%arg0: tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>> {
    %0 = nn.reshape %arg0 {rt.microbatch = 0 : i64} : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<1x8x4xf32>
    %1 = nn.slice %0 starts = [0, 0, 0] strides = [1, 1, 1] {rt.microbatch = 0 : i64} : tensor<1x8x4xf32> -> tensor<1x4x4xf32>
    %2 = nn.reshape %1 {rt.microbatch = 0 : i64} : tensor<1x4x4xf32> -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %3 = rt.call @start() {microbatch = 0 : i64} : () -> tensor<4xf32, #dist.local<#mesh, [4]>>
    %4 = rt.call @forward(%2, %3) {microbatch = 0 : i64} : (tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>, tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>>
    %5 = nn.reshape %arg0 {rt.microbatch = 1 : i64} : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<1x8x4xf32>
    %6 = nn.slice %5 starts = [0, 4, 0] strides = [1, 1, 1] {rt.microbatch = 1 : i64} : tensor<1x8x4xf32> -> tensor<1x4x4xf32>
    %7 = nn.reshape %6 {rt.microbatch = 1 : i64} : tensor<1x4x4xf32> -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
    %8 = rt.call @forward(%7, %4) {microbatch = 1 : i64} : (tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>, tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>>
    return %8 : tensor<4xf32, #dist.local<#mesh, [4]>>
  }
}

