// RUN: %doctest %s
// A program for one step of SGD on the mean square error: labels are a new input, the weight is state that the
// program updates, and the first result is for the log.
// options: loss=mse:y,t optimizer=sgd:lr=0.1
//--- before
module {
  func.func @forward(%x: tensor<4x8xf32> {nn.name = "x"}, %w: tensor<8x3xf32> {nn.name = "w", nn.initial = 1.0 : f32})
      -> (tensor<4x3xf32> {nn.name = "y"}) {
    %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = nn.tanh %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}
//--- after
module attributes {weft.metadata = {train.batch = "4", train.labels = "t", train.loss = "mse:y,t", train.optimizer = "sgd:lr=0.1", train.seed = "0"}} {
  func.func @step(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<4x3xf32> {nn.name = "t"}, %arg2: tensor<8x3xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w"}, %arg3: tensor<i64> {nn.class = "optimizer", nn.initial = 0 : i64, nn.name = "weft.step"}) -> (tensor<f32> {nn.name = "loss"}, tensor<f32> {nn.name = "grad_norm"}, tensor<f32> {nn.name = "lr"}, tensor<8x3xf32> {nn.updates = "w"}, tensor<i64> {nn.updates = "weft.step"}) {
    %0 = nn.contract %arg0, %arg2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = nn.tanh %0 : tensor<4x3xf32>
    %2 = nn.sub %1, %arg1 : tensor<4x3xf32>
    %3 = nn.mul %2, %2 : tensor<4x3xf32>
    %4 = nn.reduce  sum %3 dims = [0, 1] : tensor<4x3xf32> -> tensor<f32>
    %5 = nn.constant dense<0.0833333358> : tensor<f32> : tensor<f32>
    %6 = nn.mul %4, %5 : tensor<f32>
    %7 = nn.constant {nn.role = "input_gradient"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
    %8 = nn.constant {nn.role = "input_gradient"} dense<0.166666672> : tensor<f32> : tensor<f32>
    %9 = nn.mul %7, %8 {nn.role = "input_gradient"} : tensor<f32>
    %10 = nn.broadcast %9 dims = [] {nn.role = "input_gradient"} : tensor<f32> -> tensor<4x3xf32>
    %11 = nn.mul %2, %10 {nn.role = "input_gradient"} : tensor<4x3xf32>
    %12 = nn.mul %1, %1 {nn.role = "input_gradient"} : tensor<4x3xf32>
    %13 = nn.constant {nn.role = "input_gradient"} dense<1.000000e+00> : tensor<4x3xf32> : tensor<4x3xf32>
    %14 = nn.sub %13, %12 {nn.role = "input_gradient"} : tensor<4x3xf32>
    %15 = nn.mul %11, %14 {nn.role = "input_gradient"} : tensor<4x3xf32>
    %16 = nn.contract %15, %arg0 lhs = [0, 2] rhs = [0, 1] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<4x3xf32>, tensor<4x8xf32>) -> tensor<8x3xf32>
    %17 = nn.mul %16, %16 {nn.role = "optimizer"} : tensor<8x3xf32>
    %18 = nn.reduce  sum %17 dims = [0, 1] {nn.role = "optimizer"} : tensor<8x3xf32> -> tensor<f32>
    %19 = nn.cast %18 {nn.role = "optimizer"} : (tensor<f32>) -> tensor<f64>
    %20 = nn.sqrt %19 {nn.role = "optimizer"} : tensor<f64>
    %21 = nn.cast %arg3 {nn.role = "optimizer"} : (tensor<i64>) -> tensor<f64>
    %22 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f64> : tensor<f64>
    %23 = nn.add %21, %22 {nn.role = "optimizer"} : tensor<f64>
    %24 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f64> : tensor<f64>
    %25 = nn.cast %20 {nn.role = "optimizer"} : (tensor<f64>) -> tensor<f32>
    %26 = nn.constant {nn.role = "optimizer"} dense<1.000000e-01> : tensor<f64> : tensor<f64>
    %27 = nn.mul %24, %26 {nn.role = "optimizer"} : tensor<f64>
    %28 = nn.cast %27 {nn.role = "optimizer"} : (tensor<f64>) -> tensor<f32>
    %29 = nn.constant {nn.role = "optimizer"} dense<1.000000e-01> : tensor<f64> : tensor<f64>
    %30 = nn.mul %24, %29 {nn.role = "optimizer"} : tensor<f64>
    %31 = nn.cast %30 {nn.role = "optimizer"} : (tensor<f64>) -> tensor<f32>
    %32 = nn.broadcast %31 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<8x3xf32>
    %33 = nn.mul %32, %16 {nn.role = "optimizer"} : tensor<8x3xf32>
    %34 = nn.sub %arg2, %33 {nn.role = "optimizer"} : tensor<8x3xf32>
    %35 = nn.constant {nn.role = "optimizer"} dense<1> : tensor<i64> : tensor<i64>
    %36 = nn.add %arg3, %35 {nn.role = "optimizer"} : tensor<i64>
    return %6, %25, %28, %34, %36 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<8x3xf32>, tensor<i64>
  }
  func.func @eval(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<4x3xf32> {nn.name = "t"}, %arg2: tensor<8x3xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w"}) -> (tensor<f32> {nn.name = "loss"}) {
    %0 = nn.contract %arg0, %arg2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = nn.tanh %0 : tensor<4x3xf32>
    %2 = nn.sub %1, %arg1 : tensor<4x3xf32>
    %3 = nn.mul %2, %2 : tensor<4x3xf32>
    %4 = nn.reduce  sum %3 dims = [0, 1] : tensor<4x3xf32> -> tensor<f32>
    %5 = nn.constant dense<0.0833333358> : tensor<f32> : tensor<f32>
    %6 = nn.mul %4, %5 : tensor<f32>
    return %6 : tensor<f32>
  }
  func.func @forward(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<8x3xf32> {nn.initial = 1.000000e+00 : f32, nn.name = "w"}) -> (tensor<4x3xf32> {nn.name = "y"}) {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = nn.tanh %0 : tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}
