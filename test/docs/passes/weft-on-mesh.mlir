// RUN: %doctest %s
// The module has a mesh, so the pipeline is run.
// options: pipeline=builtin.module(dist-insert-reshards)
//--- before
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                     %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
    %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
//--- after
#mesh = #dist.mesh<["tp"=2]>
#reason = #dist.reason<maker = "nn.contract", readers = ["result 0"], reader_count = 1, role = "forward", from = <#mesh, [8, 4], partial = sum["tp"]>, to = <#mesh, [8, 4]>, summed = <#mesh, [16{"tp"}]>>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%arg0: tensor<8x16xf32, #dist.placement<#mesh, [8, 16{"tp"}]>>, %arg1: tensor<16x4xf32, #dist.placement<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x16xf32, #dist.placement<#mesh, [8, 16{"tp"}]>>, tensor<16x4xf32, #dist.placement<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>>
    %1 = dist.reshard %0 {dist.reason = #reason} : tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>> -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>>
    return %1 : tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>>
  }
}
