// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,labels optimizer=sgd' --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,ids optimizer=sgd' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SEEN
// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,answers optimizer=sgd' -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNSEEN --allow-empty
// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:square,pixels optimizer=sgd' -o /dev/null 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:square,pixels,dim=1 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=NAMED
// Extents that leave open where the classes are.
// CLASSES: warning: --loss: of 'square', 'tensor<4x6x6xf32>', each of dims 1, 2 may be that of the classes, as labels 'pixels' are 'tensor<4x6xi64>'; dim 2 is taken; ',dim=1' behind the labels takes dim 1
// CLASSES-NOT: warning:
// NAMED-NOT: warning:
// NAMED: nn.reduce max %{{.+}} dims = [1] : tensor<4x6x6xf32> -> tensor<4x6xf32>
// Weights that the loss does not see, and labels that the logits are computed from; the labels of another output are labels.
// SEEN: warning: --loss: 'logits' is computed from the labels 'ids' themselves, which a network learns to copy; name an input of its own, which is made where the model has none, as in softmax_cross_entropy:logits,labels
// SEEN-NOT: warning:
// UNSEEN-NOT: warning:

// CHECK: remark: [Missed] untrained
// CHECK-SAME: step-make-training
// CHECK-SAME: weight 'unseen' is not trained: the loss does not depend on it
// CHECK-NOT: remark:
func.func @forward(%x: tensor<4x6xf32> {nn.name = "x", nn.dims = ["batch", ""]},
                   %ids: tensor<4xi64> {nn.name = "ids", nn.dims = ["batch"]},
                   %pixels: tensor<4x6xi64> {nn.name = "pixels", nn.dims = ["batch", ""]},
                   %answers: tensor<4xi64> {nn.name = "answers", nn.dims = ["batch"]},
                   %w: tensor<6x8xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 192>},
                   %unseen: tensor<6x8xf32> {nn.name = "unseen", nn.source = #nn.source<file = "m.bin", offset = 192, length = 192>})
    -> (tensor<4x8xf32> {nn.name = "logits"}, tensor<4x8xf32> {nn.name = "other"}, tensor<4x6x6xf32> {nn.name = "square"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = nn.contract %x, %unseen lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %2 = nn.cast %ids : (tensor<4xi64>) -> tensor<4xf32>
  %3 = nn.broadcast %2 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %4 = nn.add %0, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = nn.cast %answers : (tensor<4xi64>) -> tensor<4xf32>
  %6 = nn.broadcast %5 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %7 = nn.add %1, %6 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = nn.contract %w, %unseen lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32
    : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
  %9 = nn.broadcast %8 dims = [1, 2] : tensor<6x6xf32> -> tensor<4x6x6xf32>
  return %4, %7, %9 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x6x6xf32>
}
