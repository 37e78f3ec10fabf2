// RUN: weft-opt %s --nn-simplify | FileCheck %s

// Transposes before and after a contraction become labels.
// CHECK-LABEL: func.func @transposes
// CHECK-SAME: (%[[X:.+]]: tensor<2x3xf32>, %[[W:.+]]: tensor<4x3xf32>)
// CHECK-NEXT: nn.contract %[[X]], %[[W]] lhs = [0, 1] rhs = [2, 1] result = [2, 0]
// CHECK-NEXT: return
func.func @transposes(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %0 = nn.transpose %w permutation = [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %1 = nn.contract %x, %0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = nn.transpose %1 permutation = [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// A batch flattened for a matrix product and its bias stays apart.
// CHECK-LABEL: func.func @flattened
// CHECK-NOT: nn.reshape
// CHECK: nn.contract {{.+}} -> tensor<2x5x4xf32>
// CHECK: nn.broadcast %{{.+}} dims = [2] : tensor<4xf32> -> tensor<2x5x4xf32>
// CHECK: nn.add {{.+}} : tensor<2x5x4xf32>
// CHECK-NOT: nn.reshape
// CHECK: return
func.func @flattened(%x: tensor<2x5x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<2x5x4xf32> {
  %0 = nn.reshape %x : tensor<2x5x3xf32> -> tensor<10x3xf32>
  %1 = nn.contract %0, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<10x3xf32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  %2 = nn.broadcast %b dims = [1] : tensor<4xf32> -> tensor<10x4xf32>
  %3 = nn.add %1, %2 : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %4 = nn.reshape %3 : tensor<10x4xf32> -> tensor<2x5x4xf32>
  return %4 : tensor<2x5x4xf32>
}

// Elementwise ops run on what is repeated, before it is.
// CHECK-LABEL: func.func @before_broadcast
// CHECK: nn.sqrt %{{.+}} : tensor<2xf32>
// CHECK: nn.broadcast
func.func @before_broadcast(%x: tensor<2xf32>) -> tensor<2x8xf32> {
  %one = nn.constant dense<1.0> : tensor<2x8xf32> : tensor<2x8xf32>
  %0 = nn.broadcast %x dims = [0] : tensor<2xf32> -> tensor<2x8xf32>
  %1 = nn.mul %0, %one : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = nn.sqrt %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// A reshape that merges a summed dim stays: its label would need the other's.
// CHECK-LABEL: func.func @summed
// CHECK: nn.reshape
// CHECK: nn.contract
func.func @summed(%x: tensor<2x5x3xf32>, %w: tensor<15x4xf32>) -> tensor<2x4xf32> {
  %0 = nn.reshape %x : tensor<2x5x3xf32> -> tensor<2x15xf32>
  %1 = nn.contract %0, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<2x15xf32>, tensor<15x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
