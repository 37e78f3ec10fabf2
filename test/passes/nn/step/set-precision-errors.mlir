// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=bf16}))' --verify-diagnostics
// A model's own step, whose loss reads the moving sum that it makes: in a small type it would lose what is added.

func.func @training.step(%x: tensor<4xf32> {nn.name = "x"}, %m: tensor<4xf32> {nn.name = "m", nn.initial = 0.0 : f32})
    -> (tensor<f32> {nn.name = "loss"}, tensor<4xf32> {nn.updates = "m"}) {
  // expected-error @below {{the new value of 'm' is needed for a loss, so it would be computed in a small type and lose what is added to it; compile the model's training step with --precision fp32}}
  %0 = nn.add %m, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{this reads it on the way to the loss}}
  %1 = nn.reduce sum %0 dims = [0] : tensor<4xf32> -> tensor<f32>
  return %1, %0 : tensor<f32>, tensor<4xf32>
}
