// RUN: not weft-opt %s --step-make-training='loss=mse:z,t optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not weft-opt %s --step-make-training='loss=y optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd freeze=bias' 2>&1 | FileCheck %s --check-prefix=FREEZE
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd freeze=w' 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd:lr=fast' 2>&1 | FileCheck %s --check-prefix=NUMBER

// What does not fit is told with the names that exist.
// OUTPUT: error: --loss: the model has no output 'z'; its outputs are 'y'
// SCALAR: error: --loss: output 'y' has type 'tensor<4xf32>', but a loss is one number; write mse:y,TARGET or softmax_cross_entropy:y,LABELS to compare it
// FREEZE: error: --freeze 'bias' matches no weight; weights have names as 'w'
// ALL: error: no weight is left to train
// NUMBER: error: --optimizer lr is a number not below 0, not 'fast'
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}, %w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32})
    -> (tensor<4xf32> {nn.name = "y"}) {
  %0 = nn.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
