// RUN: weft-opt %s --dist-insert-reshards --dist-verify-spmd --split-input-file | FileCheck %s

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A row-parallel product is partial, and reduced behind the op.
// CHECK-LABEL: func @row_parallel
func.func @row_parallel(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                        %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
  // CHECK: %[[PARTIAL:.+]] = nn.contract {{.*}} -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>>
  // CHECK-NEXT: %[[WHOLE:.+]] = dist.reshard %[[PARTIAL]] {{.*}} -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>>
  // CHECK-NEXT: return %[[WHOLE]]
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A partial result whose request is a split goes there in one reshard.
// CHECK-LABEL: func @sequence_parallel
func.func @sequence_parallel(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                             %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
  // CHECK: dist.reshard {{.*}}partial = sum["tp"]>> -> tensor<8x4xf32, #dist.placement<#mesh, [8{"tp"}, 4]>>
  // CHECK-NOT: dist.reshard
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      {dist.placements = [#dist.placement<#mesh, [8{"tp"}, 4]>]}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = nn.exp %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A request to stay partial passes through ops that commute with the sum: two
// row-parallel branches share one all_reduce.
// CHECK-LABEL: func @stay_partial
func.func @stay_partial(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                        %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      {dist.placements = [#dist.placement<#mesh, [8, 4], partial = sum["tp"]>]}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = nn.negate %0 {dist.placements = [#dist.placement<#mesh, [8, 4], partial = sum["tp"]>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: nn.add {{.*}} : tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>>
  // CHECK-NEXT: dist.reshard
  // CHECK-NOT: dist.reshard
  %2 = nn.add %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// How an op reads its operands can be settled from outside.
// CHECK-LABEL: func @settled
func.func @settled(%x: tensor<8x4xf32> {dist.placement = #dist.placement<#mesh, [8{"tp"}, 4]>}) -> tensor<8x4xf32> {
  // CHECK: %[[X:.+]] = dist.reshard {{.*}} -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4{"tp"}]>>
  // CHECK-NEXT: nn.exp %[[X]]
  %0 = nn.exp %x {dist.operands = [#dist.placement<#mesh, [8, 4{"tp"}]>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}
