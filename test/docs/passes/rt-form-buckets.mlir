// RUN: %doctest %s
// Both gradients are read by updates only, so their sums share messages.
//--- before
#mesh = #dist.mesh<["dp"=2]>
#whole = #dist.local<#mesh, [4]>
#partial = #dist.local<#mesh, [4], partial = sum["dp"]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%w: tensor<4xf32, #whole> {nn.name = "w", nn.initial = 0.0 : f32}, %v: tensor<4xf32, #whole> {nn.name = "v", nn.initial = 0.0 : f32},
                  %x: tensor<4xf32, #whole> {nn.name = "x"})
      -> (tensor<4xf32, #whole> {nn.updates = "w"}, tensor<4xf32, #whole> {nn.updates = "v"}) {
    %0 = rt.call @gradient(%x) {rt.roles = ["weight_gradient"]} : (tensor<4xf32, #whole>) -> tensor<4xf32, #partial>
    %1 = rt.call @gradient(%x) {rt.roles = ["weight_gradient"]} : (tensor<4xf32, #whole>) -> tensor<4xf32, #partial>
    %2 = dist.all_reduce %0 ["dp"] accumulate f32 : tensor<4xf32, #partial> -> tensor<4xf32, #whole>
    %3 = dist.all_reduce %1 ["dp"] accumulate f32 : tensor<4xf32, #partial> -> tensor<4xf32, #whole>
    %4 = rt.call @update(%w, %2) {rt.roles = ["optimizer"]} : (tensor<4xf32, #whole>, tensor<4xf32, #whole>) -> tensor<4xf32, #whole>
    %5 = rt.call @update(%v, %3) {rt.roles = ["optimizer"]} : (tensor<4xf32, #whole>, tensor<4xf32, #whole>) -> tensor<4xf32, #whole>
    return %4, %5 : tensor<4xf32, #whole>, tensor<4xf32, #whole>
  }
  func.func private @gradient(tensor<4xf32>) -> tensor<4xf32>
  func.func private @update(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}
//--- after
#mesh = #dist.mesh<["dp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%arg0: tensor<4xf32, #dist.local<#mesh, [4]>> {nn.initial = 0.000000e+00 : f32, nn.name = "w"}, %arg1: tensor<4xf32, #dist.local<#mesh, [4]>> {nn.initial = 0.000000e+00 : f32, nn.name = "v"}, %arg2: tensor<4xf32, #dist.local<#mesh, [4]>> {nn.name = "x"}) -> (tensor<4xf32, #dist.local<#mesh, [4]>> {nn.updates = "w"}, tensor<4xf32, #dist.local<#mesh, [4]>> {nn.updates = "v"}) {
    %0 = rt.call @gradient(%arg2) {rt.roles = ["weight_gradient"]} : (tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
    %1 = rt.call @gradient(%arg2) {rt.roles = ["weight_gradient"]} : (tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
    %2:2 = rt.bucket(%0, %1 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>, tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>) -> (tensor<4xf32, #dist.local<#mesh, [4]>>, tensor<4xf32, #dist.local<#mesh, [4]>>) {
    ^bb0(%arg3: tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>, %arg4: tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>):
      %5 = dist.all_reduce %arg3 ["dp"] accumulate f32 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>> -> tensor<4xf32, #dist.local<#mesh, [4]>>
      %6 = dist.all_reduce %arg4 ["dp"] accumulate f32 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>> -> tensor<4xf32, #dist.local<#mesh, [4]>>
      rt.yield %5, %6 : tensor<4xf32, #dist.local<#mesh, [4]>>, tensor<4xf32, #dist.local<#mesh, [4]>>
    }
    %3 = rt.call @update(%arg0, %2#0) {rt.roles = ["optimizer"]} : (tensor<4xf32, #dist.local<#mesh, [4]>>, tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>>
    %4 = rt.call @update(%arg1, %2#1) {rt.roles = ["optimizer"]} : (tensor<4xf32, #dist.local<#mesh, [4]>>, tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [4]>>
    return %3, %4 : tensor<4xf32, #dist.local<#mesh, [4]>>, tensor<4xf32, #dist.local<#mesh, [4]>>
  }
  func.func private @gradient(tensor<4xf32>) -> tensor<4xf32>
  func.func private @update(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
}
