// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-differentiate))' | FileCheck %s

// Gradients of activations and of weights are told apart, and the gradient of a weight that
// is transposed first is still a weight's.
// CHECK-LABEL: func.func @roles
// CHECK-SAME: -> (tensor<4x3xf32> {nn.name = "y"}, tensor<8x5xf32> {nn.name = "w0"}, tensor<3x5xf32> {nn.name = "w1"})
// CHECK: %[[W1T:.+]] = nn.transpose
// CHECK-NOT: nn.role
// CHECK: %[[SEED:.+]] = nn.constant dense<1.0
// CHECK: %[[DH:.+]] = nn.contract %[[SEED]], %[[W1T]] {{.*}} {nn.role = "input_gradient"}
// CHECK: %[[DW1T:.+]] = nn.contract %[[SEED]], {{.*}} {nn.role = "weight_gradient"}
// CHECK: %[[DW1:.+]] = nn.transpose %[[DW1T]] {{.*}} {nn.role = "weight_gradient"}
// CHECK: %[[DW0:.+]] = nn.contract {{.*}} {nn.role = "weight_gradient"}
// CHECK: return {{.*}}, %[[DW0]], %[[DW1]]
func.func @roles(%x: tensor<4x8xf32> {nn.name = "x"},
                 %w0: tensor<8x5xf32> {nn.name = "w0", nn.source = #nn.source<file = "m.bin", offset = 0, length = 160>},
                 %w1: tensor<3x5xf32> {nn.name = "w1", nn.source = #nn.source<file = "m.bin", offset = 160, length = 60>})
    -> (tensor<4x3xf32> {nn.name = "y"}) {
  %h = nn.contract %x, %w0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  %t = nn.transpose %w1 permutation = [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  %y = nn.contract %h, %t lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// A tied weight has the sum of both uses: the output layer's first, since ops are visited
// from the last to the first, and then the embedding's. The input is no state: the
// gather's gradient is the weight's.
// CHECK-LABEL: func.func @tied
// CHECK: %[[OUT:.+]] = nn.contract {{.*}} {nn.role = "weight_gradient"} : (tensor<4x5xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
// CHECK: %[[IN:.+]] = nn.scatter add {{.*}} {nn.role = "weight_gradient"}
// CHECK: %[[SUM:.+]] = nn.add %[[OUT]], %[[IN]] {nn.role = "weight_gradient"}
// CHECK: return {{.*}}, %[[SUM]]
func.func @tied(%ids: tensor<4x1xi64> {nn.name = "ids"},
                %w: tensor<5x8xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 160>})
    -> (tensor<4x5xf32> {nn.name = "logits"}) {
  %e = nn.gather %w, %ids indexed = [0] operand_batch = [] indices_batch = []
    : (tensor<5x8xf32>, tensor<4x1xi64>) -> tensor<4x8xf32>
  %l = nn.contract %e, %w lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32
    : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  return %l : tensor<4x5xf32>
}

// What a state does not reach has gradient zero.
// CHECK-LABEL: func.func @unused
// CHECK: %[[ZERO:.+]] = nn.constant {{.*}}dense<0.0
// CHECK: return {{.*}}, %[[ZERO]]
func.func @unused(%x: tensor<4xf32> {nn.name = "x"},
                  %w: tensor<4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 16>})
    -> (tensor<4xf32> {nn.name = "y"}) {
  %y = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
