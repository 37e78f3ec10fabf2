// RUN: %doctest %s
// The first microbatch's product begins the sum of a gradient: no call makes zeros to add it to.
//--- before
module {
  func.func private @start(%zero: tensor<f32>) -> tensor<4x4xf32> attributes {rt.routine} {
    %0 = nn.broadcast %zero dims = [] : tensor<f32> -> tensor<4x4xf32>
    %1 = rt.dense %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func private @backward(%x: tensor<8x4xf32>, %sum: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.routine, rt.in_place = array<i64: 1>} {
    %0 = rt.fusion library(%x, %sum : tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {rt.in_place = array<i64: 1>} {
    ^bb0(%a: tensor<8x4xf32>, %s: tensor<4x4xf32>):
      %1 = nn.contract %a, %a lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      %2 = nn.add %s, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      rt.yield %2 : tensor<4x4xf32>
    }
    return %0 : tensor<4x4xf32>
  }
  func.func @step(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<4x4xf32> {
    %zero = nn.constant dense<-0.0> : tensor<f32> : tensor<f32>
    %0 = rt.call @start(%zero) {microbatch = 0 : i64} : (tensor<f32>) -> tensor<4x4xf32>
    %1 = rt.call @backward(%x, %0) {microbatch = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = rt.call @backward(%y, %1) {microbatch = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}
//--- after
module {
  func.func private @backward(%arg0: tensor<8x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.in_place = array<i64: 1>, rt.routine} {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {rt.in_place = array<i64: 1>} {
    ^bb0(%arg2: tensor<8x4xf32>, %arg3: tensor<4x4xf32>):
      %1 = nn.contract %arg2, %arg2 lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      %2 = nn.add %arg3, %1 : tensor<4x4xf32>
      rt.yield %2 : tensor<4x4xf32>
    }
    return %0 : tensor<4x4xf32>
  }
  func.func @step(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<4x4xf32> {
    %0 = rt.nothing : tensor<4x4xf32>
    %1 = rt.call @backward(%arg0, %0) {microbatch = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = rt.call @backward(%arg1, %1) {microbatch = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}
