// RUN: weft-opt %s --split-input-file --dist-place="batch-axes=dp whole-microbatches=true" --verify-diagnostics | FileCheck %s

// A microbatch is a run of rows of the whole batch, split over dp within: here rows 0-3 and 4-7, under any mesh.
module attributes {dist.mesh = #dist.mesh<["dp"=2, temporal "mb"=2]>} {
// CHECK-LABEL: func @step
// CHECK-SAME: dist.placement = #dist.placement<#mesh, [2*4{"dp"}]>, dist.used = #dist.placement<#mesh, [8{"mb","dp"}]>
func.func @step(%x: tensor<8xf32> {nn.name = "x", nn.dims = ["batch"]}) -> (tensor<f32> {nn.name = "loss"}) {
  %0 = nn.reduce sum %x dims = [0] : tensor<8xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func @forward
// CHECK-SAME: dist.placement = #dist.placement<#mesh, [2*4{"dp"}]>, dist.used = #dist.placement<#mesh, [8{"mb","dp"}]>
func.func @forward(%x: tensor<8xf32> {nn.name = "x", nn.dims = ["batch"]}) -> (tensor<8xf32> {nn.name = "y"}) {
  return %x : tensor<8xf32>
}
}

// -----

module attributes {dist.mesh = #dist.mesh<["dp"=2, temporal "mb"=2]>} {
// expected-error @below {{a batch of 6 is not a multiple of 2 microbatches of 2 shards, which statistics of each microbatch need; choose another batch or number of microbatches}}
func.func @step(%x: tensor<6xf32> {nn.name = "x", nn.dims = ["batch"]}) -> (tensor<f32> {nn.name = "loss"}) {
  %0 = nn.reduce sum %x dims = [0] : tensor<6xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
}
