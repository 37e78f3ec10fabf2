// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,labels optimizer=adamw:clip=1,schedule=cosine,warmup=2,total=10' | FileCheck %s
// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,labels optimizer=sgd freeze=^w$' | FileCheck %s --check-prefix=FREEZE
// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,labels,ignore=3 optimizer=sgd' | FileCheck %s --check-prefix=IGNORE
// RUN: weft-opt %s --step-make-training='loss=softmax_cross_entropy:logits,labels optimizer=sgd grad-dtype=fp16' | FileCheck %s --check-prefix=SCALED

// Gradients of fp16 would vanish, whatever the forward pass computes in.
// SCALED-LABEL: func.func @step
// SCALED-SAME: nn.name = "weft.loss_scale"
// SCALED-SAME: tensor<f32> {nn.name = "loss_scale"}

// Inputs, labels (an input of the model's batch), weights, then what the optimizer keeps; results are
// numbers for the log and what each state becomes. Weights without a gradient are not updated.
// CHECK: module attributes {weft.metadata = {
// CHECK-SAME: train.batch = "4", train.classes = "8", train.labels = "labels"
// IGNORE: train.classes = "8", train.ignored = "3", train.labels = "labels"
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x6xf32> {nn.dims = ["batch", ""], nn.name = "x"}
// CHECK-SAME: %[[LABELS:[^:]+]]: tensor<4xi64> {nn.dims = ["batch"], nn.name = "labels"}
// CHECK-SAME: %[[W:[^:]+]]: tensor<6x8xf32> {nn.name = "w", nn.source
// CHECK-SAME: tensor<i64> {nn.class = "optimizer", nn.initial = 0 : i64, nn.name = "weft.step"}
// CHECK-SAME: tensor<6x8xf32> {nn.class = "optimizer", nn.initial = 0.000000e+00 : f32, nn.name = "w#exp_avg", nn.of = "w"}
// CHECK-SAME: nn.name = "w#exp_avg_sq", nn.of = "w"
// CHECK-SAME: -> (tensor<f32> {nn.name = "loss"}, tensor<f32> {nn.name = "grad_norm"}, tensor<f32> {nn.name = "lr"}
// CHECK-SAME: tensor<6x8xf32> {nn.updates = "w"}, tensor<6x8xf32> {nn.updates = "w#exp_avg"}
// CHECK-SAME: tensor<i64> {nn.updates = "weft.step"}

// Forward and loss; no probabilities, but what stands for them in one elementwise group.
// CHECK: %[[LOGITS:.+]] = nn.contract %[[X]], %[[W]]
// CHECK: nn.reduce max
// CHECK: nn.log
// CHECK: nn.exp %{{.+}} {nn.role = "input_gradient"}
// CHECK: nn.contract {{.*}}nn.role = "weight_gradient"
// CHECK: nn.sqrt %{{.+}} {nn.role = "optimizer"}
// CHECK: nn.pow {{.*}} {nn.role = "optimizer"}

// CHECK-LABEL: func.func @eval
// CHECK-SAME: -> (tensor<f32> {nn.name = "loss"})
// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<4x8xf32> {nn.name = "logits"})

// FREEZE-LABEL: func.func @step
// FREEZE: nn.updates = "b"
// FREEZE-NOT: nn.updates = "w"
// FREEZE-LABEL: func.func @eval
func.func @forward(%x: tensor<4x6xf32> {nn.name = "x", nn.dims = ["batch", ""]},
                   %w: tensor<6x8xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 192>},
                   %b: tensor<8xf32> {nn.name = "b", nn.source = #nn.source<file = "m.bin", offset = 192, length = 32>},
                   %s: tensor<8xf32> {nn.name = "s", nn.statistic, nn.initial = 1.0 : f32})
    -> (tensor<4x8xf32> {nn.name = "logits"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = nn.mul %b, %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.broadcast %1 dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %3 = nn.add %0, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
