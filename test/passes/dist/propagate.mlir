// RUN: weft-opt %s --dist-propagate --split-input-file | FileCheck %s
// RUN: weft-opt %s --dist-propagate --split-input-file --remarks-filter=".*" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: weft-opt %s --dist-propagate="uneven=false" --split-input-file | FileCheck %s --check-prefix=EVEN

#mesh = #dist.mesh<["dp"=2, "tp"=2]>
module attributes {dist.mesh = #mesh} {
// A column split spreads forward to the activations and, through the sum over
// n, to the rows of the next weight; the batch goes everywhere but to weights.
// CHECK-LABEL: func @column_row
// CHECK-SAME: %[[B:.+]]: tensor<32xf32> {dist.placement = #dist.placement<#mesh, [32{"tp"}]>}
// CHECK-SAME: %[[W2:.+]]: tensor<32x16xf32> {dist.placement = #dist.placement<#mesh, [32{"tp"}, 16]>}
func.func @column_row(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8{"dp"}, 16]>},
                      %w1: tensor<16x32xf32> {dist.placement = #dist.placement<#mesh, [16, 32{"tp"}]>},
                      %b: tensor<32xf32>, %w2: tensor<32x16xf32>) -> tensor<8x16xf32> {
  // CHECK: nn.contract {{.*}}dist.placements = [#dist.placement<#mesh, [8{"dp"}, 32{"tp"}]>]
  %0 = nn.contract %x, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = nn.broadcast %b dims = [1] : tensor<32xf32> -> tensor<8x32xf32>
  %2 = nn.add %0, %1 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  // CHECK: nn.contract {{.*}}dist.placements = [#dist.placement<#mesh, [8{"dp"}, 16]>]
  %3 = nn.contract %2, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// Heads survive the reshapes of attention, and a split over heads makes a
// compound placement of the fused weight.
// CHECK-LABEL: func @fused_heads
// CHECK-SAME: tensor<16x48xf32> {dist.placement = #dist.placement<#mesh, [16, 3*16{"tp"}]>}
func.func @fused_heads(%x: tensor<8x16xf32>, %w: tensor<16x48xf32>) -> tensor<8x4x4xf32> {
  // CHECK: nn.contract {{.*}}[8, 3*16{"tp"}]
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x16xf32>, tensor<16x48xf32>) -> tensor<8x48xf32>
  // CHECK: nn.slice {{.*}}[8, 16{"tp"}]
  %1 = nn.slice %0 starts = [0, 16] strides = [1, 1] : tensor<8x48xf32> -> tensor<8x16xf32>
  %2 = nn.reshape %1 {dist.placements = [#dist.placement<#mesh, [8, 4{"tp"}, 4]>]}
      : tensor<8x16xf32> -> tensor<8x4x4xf32>
  return %2 : tensor<8x4x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// Two splits that cannot both be: the first stays, both are named.
// REMARK: conflict
// REMARK-SAME: operand 0 has the axis elsewhere, operand 1 as 16{"tp"}: the first stays
// REMARK-NOT: error
// CHECK-LABEL: func @conflict
func.func @conflict(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8{"tp"}, 16]>, dist.closed},
                    %y: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>, dist.closed}) -> tensor<8x16xf32> {
  // CHECK: nn.add {{.*}}[8{"tp"}, 16]
  %0 = nn.add %x, %y : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=4]>
module attributes {dist.mesh = #mesh} {
// An uneven split spreads with a remark, or is left where it was written.
// REMARK: uneven: [10{"tp"}] is padded to equal shards
// CHECK-LABEL: func @uneven
// EVEN-LABEL: func @uneven
func.func @uneven(%x: tensor<10xf32> {dist.placement = #dist.placement<#mesh, [10{"tp"}]>}) -> tensor<10xf32> {
  // CHECK: nn.exp {{.*}}[10{"tp"}]
  // EVEN: nn.exp {{.*}}[10]
  %0 = nn.exp %x : (tensor<10xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
}

// -----

#mesh = #dist.mesh<["dp"=2]>
module attributes {dist.mesh = #mesh} {
// Values of one shape share a constant; the batch does not spread through it to a weight.
// CHECK-LABEL: func @shared_constant
// CHECK-SAME: %{{.+}}: tensor<8x4xf32> {dist.placement = #dist.placement<#mesh, [8{"dp"}, 4]>}
// CHECK-SAME: %{{.+}}: tensor<8x4xf32> {dist.placement = #dist.placement<#mesh, [8, 4]>}
func.func @shared_constant(%x: tensor<8x4xf32> {dist.placement = #dist.placement<#mesh, [8{"dp"}, 4]>},
                           %w: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %c = nn.constant dense<2.0> : tensor<8x4xf32> : tensor<8x4xf32>
  // CHECK: nn.mul {{.*}}dist.placements = [#dist.placement<#mesh, [8{"dp"}, 4]>]
  %0 = nn.mul %x, %c : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: nn.mul {{.*}}dist.placements = [#dist.placement<#mesh, [8, 4]>]
  %1 = nn.mul %w, %c : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}
}
