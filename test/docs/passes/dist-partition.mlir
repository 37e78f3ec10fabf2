// RUN: %doctest %s
// Shapes become those of one device, and the reshard from partial to whole becomes an all_reduce.
//--- before
#mesh = #dist.mesh<["tp"=2]>
#reason = #dist.reason<maker = "nn.contract", readers = ["result 0"], reader_count = 1, role = "forward", from = <#mesh, [8, 4], partial = sum["tp"]>, to = <#mesh, [8, 4]>, summed = <#mesh, [16{"tp"}]>>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%arg0: tensor<8x16xf32, #dist.placement<#mesh, [8, 16{"tp"}]>>, %arg1: tensor<16x4xf32, #dist.placement<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x16xf32, #dist.placement<#mesh, [8, 16{"tp"}]>>, tensor<16x4xf32, #dist.placement<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>>
    %1 = dist.reshard %0 {dist.reason = #reason} : tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>> -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>>
    return %1 : tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>>
  }
}
//--- after
#mesh = #dist.mesh<["tp"=2]>
#reason = #dist.reason<maker = "nn.contract", readers = ["result 0"], reader_count = 1, role = "forward", from = <#mesh, [8, 4], partial = sum["tp"]>, to = <#mesh, [8, 4]>, summed = <#mesh, [16{"tp"}]>>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%arg0: tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>, %arg1: tensor<8x4xf32, #dist.local<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>, tensor<8x4xf32, #dist.local<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.local<#mesh, [8, 4], partial = sum["tp"]>>
    %1 = dist.all_reduce %0 ["tp"] accumulate f32 {dist.reason = #reason} : tensor<8x4xf32, #dist.local<#mesh, [8, 4], partial = sum["tp"]>> -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
    return %1 : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
  }
}
