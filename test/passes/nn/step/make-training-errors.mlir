// RUN: not weft-opt %s --step-make-training='loss=mse:z,t optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not weft-opt %s --step-make-training='loss=y optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd freeze=bias' 2>&1 | FileCheck %s --check-prefix=FREEZE
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd freeze=w' 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd:lr=fast' 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not weft-opt %s --step-make-training='loss=mse:y optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t,ignore=1 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not weft-opt %s --step-make-training='loss=softmax_cross_entropy:y,t,ignore=no optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=LABEL
// RUN: not weft-opt %s --step-make-training='loss=softmax_cross_entropy:y,t,smoothing=2 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=SHARE
// RUN: not weft-opt %s --step-make-training='loss=softmax_cross_entropy:y,t,dim=1 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=NODIM
// RUN: not weft-opt %s --step-make-training='loss=softmax_cross_entropy:y,x,dim=-1 optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=LABELS
// RUN: not weft-opt %s --step-make-training='loss=mse:k,t optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=FLOATS
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=adamw:warmup=some' 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=adamw:decay=no' 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=adamw:schedule=square' 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=adamw:schedule=linear,total=9,min_lr=1' 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd param-groups=w' 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd param-groups=w:speed=1' 2>&1 | FileCheck %s --check-prefix=SPEED
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd param-groups=w:beta1=0.5' 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not weft-opt %s --step-make-training='loss=mse:y,t optimizer=sgd grad-dtype=f8' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not weft-opt %s --step-make-training='loss=softmax_cross_entropy:s,t optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not weft-opt %s --step-make-training='loss=mse:x2,t optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=UNSEEN
// RUN: echo 'module {}' | not weft-opt --step-make-training='loss=mse:y,t optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=FORWARD
// RUN: echo 'module { func.func @forward() { return } func.func @training.step() { return } }' | not weft-opt --step-make-training='loss=y optimizer=sgd' 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: not weft-opt %s --pass-pipeline="builtin.module(func.func(step-mark-recompute{mode=some}))" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not weft-opt %s --pass-pipeline="builtin.module(func.func(step-set-precision{type=f8}))" 2>&1 | FileCheck %s --check-prefix=TYPE

// What does not fit is told with the names that exist.
// OUTPUT: error: --loss: the model has no output 'z'; its outputs are 'y'{{.*}}
// NAMES: 'mse:y' needs two names, of an output and of what it is compared with
// OPTION: 'ignore=1' is no option of this loss
// LABEL: ignore needs a label, not 'no'
// SHARE: smoothing needs a share from 0 to 1, not '2'
// NODIM: error: --loss: logits 'y', 'tensor<4xf32>', have no dim 1
// LABELS: error: --loss: labels 'x' have type 'tensor<4xf32>', but logits 'tensor<4xf32>' need integers of their shape without dim 0
// FLOATS: error: --loss: output 'k' has type 'tensor<4xi64>', but a loss is computed from floats
// CLASSES: error: --loss: logits 's' have no dim of classes
// UNSEEN: error: {{.*}}depends on no weight that is trained
// FORWARD: error: has no program @forward to train
// OWN: error: @training.step needs @training.eval beside it, and neither loss nor optimizer
// MODE: choose none, selective, full or best
// TYPE: choose f32, bf16, f16 or f64
// SCALAR: error: --loss: output 'y' has type 'tensor<4xf32>', but a loss is one number; write mse:y,TARGET or softmax_cross_entropy:y,LABELS to compare it
// FREEZE: error: --freeze 'bias' matches no weight; weights have names as 'w'
// ALL: error: no weight is left to train
// NUMBER: error: --optimizer lr is a number not below 0, not 'fast'
// COUNT: error: --optimizer warmup is a number of steps, not 'some'
// DECAY: error: --optimizer decay is auto (not of vectors: biases and scales of norms) or all, not 'no'
// SCHEDULE: error: --optimizer schedule is constant, linear or cosine, not 'square'
// LEAST: error: --optimizer min_lr is above lr
// GROUP: error: --param-group 'w' needs REGEX:key=value,...; a ':' of the pattern is written \:
// SPEED: error: --param-group 'speed=1' is nothing that a group may have: lr, weight_decay, what else the optimizer has, lr_scale, decay=auto|all
// BETA: error: --param-group a group of sgd has no 'beta1'; it takes lr, weight_decay, lr_scale, decay=auto|all
// WIDTH: error: --grad-dtype 'f8' is none of fp32, bf16, fp16, fp64
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}, %w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32})
    -> (tensor<4xf32> {nn.name = "y"}, tensor<4xi64> {nn.name = "k"}, tensor<f32> {nn.name = "s"}, tensor<4xf32> {nn.name = "x2"}) {
  %0 = nn.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.cast %0 : (tensor<4xf32>) -> tensor<4xi64>
  %2 = nn.reduce sum %0 dims = [0] : tensor<4xf32> -> tensor<f32>
  %3 = nn.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xi64>, tensor<f32>, tensor<4xf32>
}
