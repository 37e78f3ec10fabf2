// A training step of a two-layer perceptron with clipping and AdamW, written by hand, and its evaluation.
func.func @step(%w1: tensor<12x10xf32> {nn.name = "w1", nn.source = #nn.source<file = "", offset = 0, length = 480>},
    %b1: tensor<10xf32> {nn.name = "b1", nn.source = #nn.source<file = "", offset = 0, length = 40>},
    %w2: tensor<10x6xf32> {nn.name = "w2", nn.source = #nn.source<file = "", offset = 0, length = 240>},
    %w1_m: tensor<12x10xf32> {nn.name = "w1#exp_avg", nn.initial = 0.0 : f32, nn.of = "w1", nn.class = "optimizer"},
    %w1_v: tensor<12x10xf32> {nn.name = "w1#exp_avg_sq", nn.initial = 0.0 : f32, nn.of = "w1", nn.class = "optimizer"},
    %b1_m: tensor<10xf32> {nn.name = "b1#exp_avg", nn.initial = 0.0 : f32, nn.of = "b1", nn.class = "optimizer"},
    %b1_v: tensor<10xf32> {nn.name = "b1#exp_avg_sq", nn.initial = 0.0 : f32, nn.of = "b1", nn.class = "optimizer"},
    %w2_m: tensor<10x6xf32> {nn.name = "w2#exp_avg", nn.initial = 0.0 : f32, nn.of = "w2", nn.class = "optimizer"},
    %w2_v: tensor<10x6xf32> {nn.name = "w2#exp_avg_sq", nn.initial = 0.0 : f32, nn.of = "w2", nn.class = "optimizer"},
    %step: tensor<i64> {nn.name = "weft.step", nn.initial = 0 : i64, nn.class = "optimizer"},
    %x: tensor<8x12xf32> {nn.name = "x", nn.dims = ["batch", ""]},
    %t: tensor<8x6xf32> {nn.name = "t", nn.dims = ["batch", ""]})
    -> (tensor<f32> {nn.name = "loss"},
    tensor<f32> {nn.name = "grad_norm"},
    tensor<12x10xf32> {nn.updates = "w1"},
    tensor<12x10xf32> {nn.updates = "w1#exp_avg"},
    tensor<12x10xf32> {nn.updates = "w1#exp_avg_sq"},
    tensor<10xf32> {nn.updates = "b1"},
    tensor<10xf32> {nn.updates = "b1#exp_avg"},
    tensor<10xf32> {nn.updates = "b1#exp_avg_sq"},
    tensor<10x6xf32> {nn.updates = "w2"},
    tensor<10x6xf32> {nn.updates = "w2#exp_avg"},
    tensor<10x6xf32> {nn.updates = "w2#exp_avg_sq"},
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
  %33 = nn.constant {nn.role = "optimizer"} dense<5.000000e-02> : tensor<f32> : tensor<f32>
  %34 = nn.constant {nn.role = "optimizer"} dense<1.000000e-06> : tensor<f32> : tensor<f32>
  %35 = nn.add %32, %34 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %36 = nn.div %33, %35 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %37 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
  %38 = nn.min %36, %37 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %39 = nn.broadcast %38 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<12x10xf32>
  %40 = nn.mul %20, %39 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %41 = nn.constant {nn.role = "optimizer"} dense<9.000000e-01> : tensor<12x10xf32> : tensor<12x10xf32>
  %42 = nn.mul %w1_m, %41 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %43 = nn.constant {nn.role = "optimizer"} dense<1.000000e-01> : tensor<12x10xf32> : tensor<12x10xf32>
  %44 = nn.mul %40, %43 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %45 = nn.add %42, %44 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %46 = nn.constant {nn.role = "optimizer"} dense<9.900000e-01> : tensor<12x10xf32> : tensor<12x10xf32>
  %47 = nn.mul %w1_v, %46 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %48 = nn.mul %40, %40 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %49 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<12x10xf32> : tensor<12x10xf32>
  %50 = nn.mul %48, %49 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %51 = nn.add %47, %50 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %52 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
  %53 = nn.constant {nn.role = "optimizer"} dense<9.000000e-01> : tensor<f32> : tensor<f32>
  %54 = nn.pow %53, %23 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %55 = nn.sub %52, %54 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %56 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
  %57 = nn.constant {nn.role = "optimizer"} dense<9.900000e-01> : tensor<f32> : tensor<f32>
  %58 = nn.pow %57, %23 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %59 = nn.sub %56, %58 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %60 = nn.broadcast %55 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<12x10xf32>
  %61 = nn.div %45, %60 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %62 = nn.broadcast %59 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<12x10xf32>
  %63 = nn.div %51, %62 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %64 = nn.sqrt %63 {nn.role = "optimizer"} : (tensor<12x10xf32>) -> tensor<12x10xf32>
  %65 = nn.constant {nn.role = "optimizer"} dense<1.000000e-08> : tensor<12x10xf32> : tensor<12x10xf32>
  %66 = nn.add %64, %65 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %67 = nn.div %61, %66 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %68 = nn.constant {nn.role = "optimizer"} dense<9.990000e-01> : tensor<12x10xf32> : tensor<12x10xf32>
  %69 = nn.mul %w1, %68 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %70 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<12x10xf32> : tensor<12x10xf32>
  %71 = nn.mul %67, %70 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %72 = nn.sub %69, %71 {nn.role = "optimizer"} : (tensor<12x10xf32>, tensor<12x10xf32>) -> tensor<12x10xf32>
  %73 = nn.broadcast %38 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<10xf32>
  %74 = nn.mul %19, %73 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %75 = nn.constant {nn.role = "optimizer"} dense<9.000000e-01> : tensor<10xf32> : tensor<10xf32>
  %76 = nn.mul %b1_m, %75 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %77 = nn.constant {nn.role = "optimizer"} dense<1.000000e-01> : tensor<10xf32> : tensor<10xf32>
  %78 = nn.mul %74, %77 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %79 = nn.add %76, %78 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %80 = nn.constant {nn.role = "optimizer"} dense<9.900000e-01> : tensor<10xf32> : tensor<10xf32>
  %81 = nn.mul %b1_v, %80 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %82 = nn.mul %74, %74 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %83 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<10xf32> : tensor<10xf32>
  %84 = nn.mul %82, %83 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %85 = nn.add %81, %84 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %86 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
  %87 = nn.constant {nn.role = "optimizer"} dense<9.000000e-01> : tensor<f32> : tensor<f32>
  %88 = nn.pow %87, %23 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %89 = nn.sub %86, %88 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %90 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
  %91 = nn.constant {nn.role = "optimizer"} dense<9.900000e-01> : tensor<f32> : tensor<f32>
  %92 = nn.pow %91, %23 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %93 = nn.sub %90, %92 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %94 = nn.broadcast %89 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<10xf32>
  %95 = nn.div %79, %94 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %96 = nn.broadcast %93 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<10xf32>
  %97 = nn.div %85, %96 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %98 = nn.sqrt %97 {nn.role = "optimizer"} : (tensor<10xf32>) -> tensor<10xf32>
  %99 = nn.constant {nn.role = "optimizer"} dense<1.000000e-08> : tensor<10xf32> : tensor<10xf32>
  %100 = nn.add %98, %99 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %101 = nn.div %95, %100 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %102 = nn.constant {nn.role = "optimizer"} dense<9.990000e-01> : tensor<10xf32> : tensor<10xf32>
  %103 = nn.mul %b1, %102 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %104 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<10xf32> : tensor<10xf32>
  %105 = nn.mul %101, %104 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %106 = nn.sub %103, %105 {nn.role = "optimizer"} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %107 = nn.broadcast %38 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<10x6xf32>
  %108 = nn.mul %13, %107 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %109 = nn.constant {nn.role = "optimizer"} dense<9.000000e-01> : tensor<10x6xf32> : tensor<10x6xf32>
  %110 = nn.mul %w2_m, %109 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %111 = nn.constant {nn.role = "optimizer"} dense<1.000000e-01> : tensor<10x6xf32> : tensor<10x6xf32>
  %112 = nn.mul %108, %111 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %113 = nn.add %110, %112 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %114 = nn.constant {nn.role = "optimizer"} dense<9.900000e-01> : tensor<10x6xf32> : tensor<10x6xf32>
  %115 = nn.mul %w2_v, %114 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %116 = nn.mul %108, %108 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %117 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<10x6xf32> : tensor<10x6xf32>
  %118 = nn.mul %116, %117 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %119 = nn.add %115, %118 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %120 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
  %121 = nn.constant {nn.role = "optimizer"} dense<9.000000e-01> : tensor<f32> : tensor<f32>
  %122 = nn.pow %121, %23 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %123 = nn.sub %120, %122 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %124 = nn.constant {nn.role = "optimizer"} dense<1.000000e+00> : tensor<f32> : tensor<f32>
  %125 = nn.constant {nn.role = "optimizer"} dense<9.900000e-01> : tensor<f32> : tensor<f32>
  %126 = nn.pow %125, %23 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %127 = nn.sub %124, %126 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %128 = nn.broadcast %123 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<10x6xf32>
  %129 = nn.div %113, %128 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %130 = nn.broadcast %127 dims = [] {nn.role = "optimizer"} : tensor<f32> -> tensor<10x6xf32>
  %131 = nn.div %119, %130 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %132 = nn.sqrt %131 {nn.role = "optimizer"} : (tensor<10x6xf32>) -> tensor<10x6xf32>
  %133 = nn.constant {nn.role = "optimizer"} dense<1.000000e-08> : tensor<10x6xf32> : tensor<10x6xf32>
  %134 = nn.add %132, %133 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %135 = nn.div %129, %134 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %136 = nn.constant {nn.role = "optimizer"} dense<9.990000e-01> : tensor<10x6xf32> : tensor<10x6xf32>
  %137 = nn.mul %w2, %136 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %138 = nn.constant {nn.role = "optimizer"} dense<1.000000e-02> : tensor<10x6xf32> : tensor<10x6xf32>
  %139 = nn.mul %135, %138 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  %140 = nn.sub %137, %139 {nn.role = "optimizer"} : (tensor<10x6xf32>, tensor<10x6xf32>) -> tensor<10x6xf32>
  return %10, %32, %72, %45, %51, %106, %79, %85, %140, %113, %119, %22 : tensor<f32>, tensor<f32>, tensor<12x10xf32>, tensor<12x10xf32>, tensor<12x10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10x6xf32>, tensor<10x6xf32>, tensor<10x6xf32>, tensor<i64>
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
