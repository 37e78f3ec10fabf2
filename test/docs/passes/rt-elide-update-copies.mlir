// RUN: %doctest %s
// Nothing reads the old value later, and the kernel reads it only at the index that it writes: a variant of the
// kernel overwrites the state, and the copy goes.
//--- before
module {
  func.func @step(%arg0: tensor<4xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w"}, %arg1: tensor<4xf32> {nn.name = "g"}) -> (tensor<4xf32> {nn.updates = "w"}) {
    %0 = rt.call @k_update(%arg0, %arg1) {rt.roles = ["optimizer"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = rt.dense %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @k_update(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
    %0 = nn.sub %arg0, %arg1 {nn.role = "optimizer"} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<4xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w"}, %arg1: tensor<4xf32> {nn.name = "g"}) -> (tensor<4xf32> {nn.updates = "w"}) {
    %0 = rt.call @k_update(%arg0, %arg1) {rt.roles = ["optimizer"]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @k_update(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> attributes {rt.in_place = array<i64: 0>, rt.kernel} {
    %0 = nn.sub %arg0, %arg1 {nn.role = "optimizer"} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
