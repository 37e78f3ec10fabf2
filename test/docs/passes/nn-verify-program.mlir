// RUN: %doctest %s
// Weights of 4 elements in 16 bytes cannot be read from 12, and a result that updates a state has its type.
//--- before
module {
  // expected-error @below {{argument 1 of @step has 4 elements in 16 bytes, but its source has 12}}
  func.func @step(%x: tensor<4xf32> {nn.name = "x"}, %w: tensor<4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.onnx", offset = 0, length = 12>},
                  // expected-note @below {{the state is 'tensor<2xf32>'}}
                  %m: tensor<2xf32> {nn.name = "m", nn.initial = 0.0 : f32}) -> (tensor<4xf32> {nn.updates = "m"}) {
    // expected-error @below {{result 0 of @step updates state "m" by 'tensor<4xf32>'}}
    %0 = nn.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
