// RUN: %doctest %s
// The search finds the split that moves the fewest bytes: columns of the first weight, rows of the second, one
// sum.
// options: axis=tp
//--- before
module attributes {dist.mesh = #dist.mesh<["tp"=2]>} {
  func.func @forward(%x: tensor<8x16xf32> {nn.name = "x"}, %w1: tensor<16x64xf32> {nn.name = "w1"}, %w2: tensor<64x16xf32> {nn.name = "w2"})
      -> (tensor<8x16xf32> {nn.name = "y"}) {
    %0 = nn.contract %x, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
        : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %1 = nn.tanh %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = nn.contract %1, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
        : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
}
//--- after
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%arg0: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8{"tp"}, 16]>, nn.name = "x"}, %arg1: tensor<16x64xf32> {dist.placement = #dist.placement<#mesh, [16, 64]>, nn.name = "w1"}, %arg2: tensor<64x16xf32> {dist.placement = #dist.placement<#mesh, [64, 16]>, nn.name = "w2"}) -> (tensor<8x16xf32> {nn.name = "y"}) attributes {dist.searched = ["tp"]} {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {dist.operands = [#dist.placement<#mesh, [8{"tp"}, 16]>, #dist.placement<#mesh, [16, 64]>], dist.placements = [#dist.placement<#mesh, [8{"tp"}, 64]>]} : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %1 = nn.tanh %0 {dist.operands = [#dist.placement<#mesh, [8{"tp"}, 64]>], dist.placements = [#dist.placement<#mesh, [8{"tp"}, 64]>]} : tensor<8x64xf32>
    %2 = nn.contract %1, %arg2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {dist.operands = [#dist.placement<#mesh, [8{"tp"}, 64]>, #dist.placement<#mesh, [64, 16]>], dist.placements = [#dist.placement<#mesh, [8{"tp"}, 16]>]} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
}
