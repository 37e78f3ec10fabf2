// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,labels optimizer=sgd' --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// Weights that the loss does not see.

// CHECK: remark: [Missed] untrained
// CHECK-SAME: step-make-training
// CHECK-SAME: weight 'unseen' is not trained: the loss does not depend on it
// CHECK-NOT: remark:
func.func @forward(%x: tensor<4x6xf32> {nn.name = "x", nn.dims = ["batch", ""]},
                   %w: tensor<6x8xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 192>},
                   %unseen: tensor<6x8xf32> {nn.name = "unseen", nn.source = #nn.source<file = "m.bin", offset = 192, length = 192>})
    -> (tensor<4x8xf32> {nn.name = "logits"}, tensor<4x8xf32> {nn.name = "other"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = nn.contract %x, %unseen lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
