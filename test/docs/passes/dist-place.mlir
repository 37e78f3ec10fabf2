// RUN: %doctest %s
// The rule splits the columns of a weight, and `batch-axes` the dim of the input that is named `batch`.
// options: rules=w=dim1:tp batch-axes=dp
//--- before
module attributes {dist.mesh = #dist.mesh<["dp"=2, "tp"=2]>} {
  func.func @forward(%x: tensor<8x16xf32> {nn.name = "x", nn.dims = ["batch", ""]}, %w: tensor<16x4xf32> {nn.name = "w"}) -> tensor<8x4xf32> {
    %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
//--- after
#mesh = #dist.mesh<["dp"=2, "tp"=2]>
module attributes {dist.batch_axes = ["dp"], dist.mesh = #mesh} {
  func.func @forward(%arg0: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8{"dp"}, 16]>, nn.dims = ["batch", ""], nn.name = "x"}, %arg1: tensor<16x4xf32> {dist.closed, dist.placement = #dist.placement<#mesh, [16, 4{"tp"}]>, nn.name = "w"}) -> tensor<8x4xf32> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
