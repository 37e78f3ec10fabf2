// RUN: %doctest %s
// Two updates of biases, of which nothing waits for either, are one launch: of a kernel with two members, which is both.
//--- before
module attributes {weft.target = "cuda"} {
  func.func @step(%a: tensor<8xf32> {nn.initial = 0.0 : f32, nn.name = "a"}, %b: tensor<8xf32> {nn.initial = 0.0 : f32, nn.name = "b"}, %g: tensor<8xf32>)
      -> (tensor<8xf32> {nn.updates = "a"}, tensor<8xf32> {nn.updates = "b"}) {
    %0 = rt.call @update(%a, %g) {rt.roles = ["optimizer"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %1 = rt.call @update(%b, %g) {rt.roles = ["optimizer"]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @update(%a: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<8xf32> attributes {rt.in_place = array<i64: 0>, rt.kernel} {
    %0 = nn.sub %a, %g : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
//--- after
module attributes {weft.target = "cuda"} {
  func.func @step(%arg0: tensor<8xf32> {nn.initial = 0.000000e+00 : f32, nn.name = "a"}, %arg1: tensor<8xf32> {nn.initial = 0.000000e+00 : f32, nn.name = "b"}, %arg2: tensor<8xf32>) -> (tensor<8xf32> {nn.updates = "a"}, tensor<8xf32> {nn.updates = "b"}) {
    %0:2 = rt.call @update_x2(%arg0, %arg2, %arg1, %arg2) {rt.roles = ["optimizer", "optimizer"]} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @update_x2(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {rt.in_place = array<i64: 0, 2>, rt.kernel, rt.members = 2 : i64} {
    %0 = nn.sub %arg0, %arg1 : tensor<8xf32>
    %1 = nn.sub %arg2, %arg3 : tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

