// RUN: %doctest %s
// The placements are noted by the names of inputs and nodes, so that they can be written into the model file.
//--- before
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%x: tensor<8x16xf32> {nn.name = "x", dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>}) -> tensor<8x16xf32> {
    %0 = nn.exp %x {dist.placements = [#dist.placement<#mesh, [8, 16{"tp"}]>]} : (tensor<8x16xf32>) -> tensor<8x16xf32> loc("exp_1")
    return %0 : tensor<8x16xf32>
  }
}
//--- after
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh, dist.recorded = {exp_1 = #dist.placement<#mesh, [8, 16{"tp"}]>, x = #dist.placement<#mesh, [8, 16{"tp"}]>}} {
  func.func @forward(%arg0: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>, nn.name = "x"}) -> tensor<8x16xf32> {
    %0 = nn.exp %arg0 {dist.placements = [#dist.placement<#mesh, [8, 16{"tp"}]>]} : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}
