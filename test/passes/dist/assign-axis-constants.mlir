// A constant is made anew where it is read, as the batch is split there, and takes part in a sum that is due over the searched axis.
// RUN: weft-opt %s --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2,tp=2},dist-place{batch-axes=dp},dist-propagate,func.func(dist-assign-axis{axis=tp}),dist-insert-reshards,dist-partition,dist-simplify-collectives,dist-verify-spmd)" | FileCheck %s

// CHECK-NOT: dist.{{all_reduce|slice}}
// CHECK: nn.constant {{.*}} : tensor<2x8xf32,
// CHECK-NOT: dist.{{all_reduce|slice}}
// CHECK: nn.select {{.*}} : (tensor<2x8xi1, {{.*}}>, tensor<2x8xf32, {{.*}} partial = sum["tp"]>>, tensor<2x8xf32, {{.*}} partial = sum["tp"]>>)
// CHECK-NOT: dist.all_reduce
// CHECK: dist.all_reduce {{.*}} ["dp", "tp"] {{.*}} : tensor<f32,
// CHECK-NOT: dist.all_reduce
func.func @forward(
    %x: tensor<4x16xf32> {nn.name = "x", nn.dims = ["batch", ""]},
    %known: tensor<4x8xi1> {nn.name = "known", nn.dims = ["batch", ""]},
    %up: tensor<16x64xf32> {nn.name = "up", nn.source = #nn.source<file = "w", offset = 0, length = 4096>},
    %down: tensor<64x8xf32> {nn.name = "down", nn.source = #nn.source<file = "w", offset = 4096, length = 2048>})
    -> (tensor<f32> {nn.name = "loss"}) {
  %0 = nn.contract %x, %up lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32
      : (tensor<4x16xf32>, tensor<16x64xf32>) -> tensor<4x64xf32>
  %1 = nn.gelu %0 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %2 = nn.contract %1, %down lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32
      : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  %zero = nn.constant dense<0.0> : tensor<4x8xf32> : tensor<4x8xf32>
  %3 = nn.select %known, %2, %zero : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = nn.reduce sum %3 dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %4 : tensor<f32>
}
