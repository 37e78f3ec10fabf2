// RUN: %doctest %s
// ZeRO-1: the momentum is stored in shards, and the optimizer computes where it is; the parameter stays whole.
// options: axis=dp slots=sharded
//--- before
module attributes {dist.mesh = #dist.mesh<["dp"=2]>} {
  func.func @step(%w: tensor<4x6xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 96>},
                  %m: tensor<4x6xf32> {nn.name = "w#momentum", nn.class = "optimizer", nn.initial = 0.0 : f32, nn.of = "w"},
                  %g: tensor<4x6xf32> {nn.name = "g"})
      -> (tensor<4x6xf32> {nn.updates = "w"}, tensor<4x6xf32> {nn.updates = "w#momentum"}) attributes {dist.order = "lead"} {
    %0 = nn.add %m, %g {nn.role = "optimizer"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = nn.sub %w, %0 {nn.role = "optimizer"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %1, %0 : tensor<4x6xf32>, tensor<4x6xf32>
  }
  func.func @forward(%w: tensor<4x6xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 96>})
      -> tensor<4x6xf32> attributes {dist.order = "follow"} {
    %0 = nn.exp %w : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
//--- after
#mesh = #dist.mesh<["dp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%arg0: tensor<4x6xf32> {dist.closed, dist.placement = #dist.placement<#mesh, [4, 6]>, nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 96>}, %arg1: tensor<4x6xf32> {dist.closed, dist.placement = #dist.placement<#mesh, [4{"dp"}, 6]>, nn.class = "optimizer", nn.initial = 0.000000e+00 : f32, nn.name = "w#momentum", nn.of = "w"}, %arg2: tensor<4x6xf32> {dist.placement = #dist.placement<#mesh, [4{"dp"}, 6]>, nn.name = "g"}) -> (tensor<4x6xf32> {dist.placement = #dist.placement<#mesh, [4, 6]>, nn.updates = "w"}, tensor<4x6xf32> {dist.placement = #dist.placement<#mesh, [4{"dp"}, 6]>, nn.updates = "w#momentum"}) attributes {dist.order = "lead"} {
    %0 = nn.add %arg1, %arg2 {dist.placements = [#dist.placement<#mesh, [4{"dp"}, 6]>], nn.role = "optimizer"} : tensor<4x6xf32>
    %1 = nn.sub %arg0, %0 {dist.placements = [#dist.placement<#mesh, [4{"dp"}, 6]>], nn.role = "optimizer"} : tensor<4x6xf32>
    return %1, %0 : tensor<4x6xf32>, tensor<4x6xf32>
  }
  func.func @forward(%arg0: tensor<4x6xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 96>}) -> tensor<4x6xf32> attributes {dist.order = "follow"} {
    %0 = nn.exp %arg0 : tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
