// RUN: weft-opt %s --dist-insert-reshards --dist-partition --dist-verify-spmd --split-input-file | FileCheck %s

#mesh = #dist.mesh<["tp"=4]>
module attributes {dist.mesh = #mesh} {
// Types become local, a reshard becomes its collective.
// CHECK-LABEL: func @row_parallel
// CHECK-SAME: %[[X:.+]]: tensor<8x4xf32, #dist.local<#mesh, [8, 16{"tp"}]>>
func.func @row_parallel(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                        %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
  // CHECK: %[[PARTIAL:.+]] = nn.contract
  // CHECK-NEXT: dist.all_reduce %[[PARTIAL]] ["tp"] accumulate f32
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=4]>
module attributes {dist.mesh = #mesh} {
// 10 over 4 is padded to 3 each; padding that meets a sum is masked first, once for all users.
// CHECK-LABEL: func @uneven
func.func @uneven(%x: tensor<10xf32> {dist.placement = #dist.placement<#mesh, [10{"tp"}]>}) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[EXP:.+]] = nn.exp {{.*}} : tensor<3xf32, #dist.local<#mesh, [10{"tp"}]>>
  // CHECK-DAG: %[[MAX:.+]] = dist.mask %[[EXP]] : {{.*}} padding = max>>
  // CHECK-DAG: %[[ZERO:.+]] = dist.mask %[[EXP]] : {{.*}} padding = sum>>
  %0 = nn.exp %x : (tensor<10xf32>) -> tensor<10xf32>
  // CHECK: nn.reduce sum %[[ZERO]]
  %1 = nn.reduce sum %0 dims = [0] : tensor<10xf32> -> tensor<f32>
  // CHECK: nn.reduce max %[[MAX]]
  %2 = nn.reduce max %0 dims = [0] : tensor<10xf32> -> tensor<f32>
  return %1, %2 : tensor<f32>, tensor<f32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A lookup in a table split over its rows looks up local positions and sums.
// CHECK-LABEL: func @vocabulary
// CHECK-SAME: %[[TABLE:.+]]: tensor<50x8xf32, #dist.local<#mesh, [100{"tp"}, 8]>>, %[[IDS:.+]]: tensor<4x1xi64
func.func @vocabulary(%table: tensor<100x8xf32> {dist.placement = #dist.placement<#mesh, [100{"tp"}, 8]>},
                      %ids: tensor<4x1xi64>) -> tensor<4x8xf32> {
  // CHECK: %[[LOCAL:.+]] = dist.localize_index %[[IDS]] {{.*}} local_indices = [0 : 100{"tp"}]>>
  // CHECK: %[[ROWS:.+]] = nn.gather %[[TABLE]], %[[LOCAL]]
  // CHECK: dist.all_reduce %[[ROWS]] ["tp"]
  %0 = nn.gather %table, %ids indexed = [0] operand_batch = [] indices_batch = []
      {dist.operands = [#dist.placement<#mesh, [100{"tp"}, 8]>, #dist.placement<#mesh, [4, 1]>]}
      : (tensor<100x8xf32>, tensor<4x1xi64>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// Attributes that count elements follow the shard: the second of three blocks.
// CHECK-LABEL: func @slice
func.func @slice(%x: tensor<48xf32> {dist.placement = #dist.placement<#mesh, [3*16{"tp"}]>}) -> tensor<16xf32> {
  // CHECK: nn.slice %{{.+}} starts = [8] strides = [1] : tensor<24xf32, {{.*}} -> tensor<8xf32
  %0 = nn.slice %x starts = [16] strides = [1] : tensor<48xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}
