// RUN: %doctest %s
// Of a kernel with two members the first is left: code is made of it once.
//--- before
func.func @update_x2(%a: tensor<8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>, %h: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {rt.in_place = array<i64: 0, 2>, rt.kernel, rt.members = 2 : i64} {
  %0 = nn.sub %a, %g : tensor<8xf32>
  %1 = nn.sub %b, %h : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
//--- after
module {
  func.func @update_x2(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> attributes {rt.in_place = array<i64: 0>, rt.kernel, rt.members = 2 : i64} {
    %0 = nn.sub %arg0, %arg1 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

