// RUN: weft-opt %s --split-input-file --nn-verify-program=complete=true --verify-diagnostics
// From `step` on nothing is left to compute later, and ops may say what they are for.

func.func @step(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
  %0 = nn.exp %x {nn.recompute} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.exp %0 {nn.role = "input_gradient"} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error @below {{@forward.training is private; from 'step' on every function is a program, so make it public or delete it}}
func.func private @forward.training(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error @below {{argument 1 of @forward still stands for a gradient (nn.gradient), which 'step' computes; run its passes before}}
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}, %g: tensor<4xf32> {nn.name = "g", nn.gradient = array<i64: 0, 0>})
    // expected-error @above {{result 0 of @forward is marked nn.inner without a name, which 'step' takes away; run its passes before}}
    -> (tensor<4xf32> {nn.inner}) {
  return %x : tensor<4xf32>
}

// -----

func.func @step(%x: tensor<4xf32> {nn.name = "x"}) {
  // expected-error @below {{has nn.recompute, but is no op of the forward pass of a step; leave it out}}
  %0 = nn.exp %x {nn.recompute, nn.role = "input_gradient"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
