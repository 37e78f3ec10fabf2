// A training step of a two-layer perceptron with plain SGD, written by hand, and its evaluation.
func.func @step(%w1: tensor<12x10xf32> {nn.name = "w1", nn.source = #nn.source<file = "", offset = 0, length = 480>},
    %b1: tensor<10xf32> {nn.name = "b1", nn.source = #nn.source<file = "", offset = 0, length = 40>},
    %w2: tensor<10x6xf32> {nn.name = "w2", nn.source = #nn.source<file = "", offset = 0, length = 240>},
    %step: tensor<i64> {nn.name = "weft.step", nn.initial = 0 : i64, nn.class = "optimizer"},
    %x: tensor<8x12xf32> {nn.name = "x", nn.dims = ["batch", ""]},
    %t: tensor<8x6xf32> {nn.name = "t", nn.dims = ["batch", ""]})
    -> (tensor<f32> {nn.name = "loss"},
    tensor<f32> {nn.name = "grad_norm"},
    tensor<12x10xf32> {nn.updates = "w1"},
    tensor<10xf32> {nn.updates = "b1"},
    tensor<10x6xf32> {nn.updates = "w2"},
    tensor<i64> {nn.updates = "weft.step"}) {
  %1 = nn.contract %x, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x12xf32>, tensor<12x10xf32>) -> tensor<8x10xf32>
  %2 = nn.broadcast %b1 dims = [1] : tensor<10xf32> -> tensor<8x10xf32>
  %3 = nn.add %1, %2 : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
  %4 = nn.tanh %3 : (tensor<8x10xf32>) -> tensor<8x10xf32>
  %5 = nn.contract %4, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x10xf32>, tensor<10x6xf32>) -> tensor<8x6xf32>
  %6 = nn.sub %5, %t : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %7 = nn.mul %6, %6 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %8 = nn.reduce sum %7 dims = [0, 1] : tensor<8x6xf32> -> tensor<f32>
  %9 = nn.constant dense<2.083333e-02> : tensor<f32> : tensor<f32>
  %10 = nn.mul %8, %9 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %11 = nn.constant {nn.role = "input_gradient"} dense<4.166667e-02> : tensor<8x6xf32> : tensor<8x6xf32>
  %12 = nn.mul %6, %11 {nn.role = "input_gradient"} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %13 = nn.contract %4, %12 lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x10xf32>, tensor<8x6xf32>) -> tensor<10x6xf32>
  %14 = nn.contract %12, %w2 lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"} : (tensor<8x6xf32>, tensor<10x6xf32>) -> tensor<8x10xf32>
  %15 = nn.constant {nn.role = "input_gradient"} dense<1.000000e+00> : tensor<8x10xf32> : tensor<8x10xf32>
  %16 = nn.mul %4, %4 {nn.role = "input_gradient"} : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
  %17 = nn.sub %15, %16 {nn.role = "input_gradient"} : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
  %18 = nn.mul %14, %17 {nn.role = "input_gradient"} : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
  %19 = nn.reduce sum %18 dims = [0] {nn.role = "weight_gradient"} : tensor<8x10xf32> -> tensor<10xf32>
  %20 = nn.contract %x, %18 lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x12xf32>, tensor<8x10xf32>) -> tensor<12x10xf32>
  %21 = nn.constant {nn.role = "optimizer"} dense<1> : tensor<i64> : tensor<i64>
  %22 = nn.add %step, %21 {nn.role = "optimizer"} : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %23 = nn.cast %22 {nn.role = "optimizer"} : (tensor<i64>) -> tensor<f32>
  %24 = nn.mul %20, %20 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %25 = nn.reduce sum %24 dims = [0, 1] {nn.role = "optimizer"} : tensor<12x10xf32> -> tensor<f32>
  %26 = nn.mul %19, %19 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %27 = nn.reduce sum %26 dims = [0] {nn.role = "optimizer"} : tensor<10xf32> -> tensor<f32>
  %28 = nn.add %25, %27 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %29 = nn.mul %13, %13 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %30 = nn.reduce sum %29 dims = [0, 1] {nn.role = "optimizer"} : tensor<10x6xf32> -> tensor<f32>
  %31 = nn.add %28, %30 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %32 = nn.sqrt %31 {nn.role = "optimizer"} : (tensor<f32>) -> tensor<f32>
  %33 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<12x10xf32> : tensor<12x10xf32>
  %34 = nn.mul %20, %33 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %35 = nn.sub %w1, %34 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %36 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<10xf32> : tensor<10xf32>
  %37 = nn.mul %19, %36 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %38 = nn.sub %b1, %37 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %39 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<10x6xf32> : tensor<10x6xf32>
  %40 = nn.mul %13, %39 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %41 = nn.sub %w2, %40 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  return %10, %32, %35, %38, %41, %22 : tensor<f32>, tensor<f32>, tensor<12x10xf32>, tensor<10xf32>, tensor<10x6xf32>, tensor<i64>
}
func.func @eval(%w1: tensor<12x10xf32> {nn.name = "w1", nn.source = #nn.source<file = "", offset = 0, length = 480>},
    %b1: tensor<10xf32> {nn.name = "b1", nn.source = #nn.source<file = "", offset = 0, length = 40>},
    %w2: tensor<10x6xf32> {nn.name = "w2", nn.source = #nn.source<file = "", offset = 0, length = 240>},
    %x: tensor<8x12xf32> {nn.name = "x", nn.dims = ["batch", ""]},
    %t: tensor<8x6xf32> {nn.name = "t", nn.dims = ["batch", ""]})
    -> (tensor<f32> {nn.name = "loss"}) {
  %1 = nn.contract %x, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x12xf32>, tensor<12x10xf32>) -> tensor<8x10xf32>
  %2 = nn.broadcast %b1 dims = [1] : tensor<10xf32> -> tensor<8x10xf32>
  %3 = nn.add %1, %2 : (tensor<8x10xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
  %4 = nn.tanh %3 : (tensor<8x10xf32>) -> tensor<8x10xf32>
  %5 = nn.contract %4, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x10xf32>, tensor<10x6xf32>) -> tensor<8x6xf32>
  %6 = nn.sub %5, %t : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %7 = nn.mul %6, %6 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %8 = nn.reduce sum %7 dims = [0, 1] : tensor<8x6xf32> -> tensor<f32>
  %9 = nn.constant dense<2.083333e-02> : tensor<f32> : tensor<f32>
  %10 = nn.mul %8, %9 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %10 : tensor<f32>
}
