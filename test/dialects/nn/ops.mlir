// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt --mlir-print-op-generic %s | weft-opt | FileCheck %s
// Every op prints in a form that reads back as itself.

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<2x4xf32>, %n: tensor<2x4xi32>, %p: tensor<2x4xi1>) {
  // CHECK-NEXT: nn.negate %{{.+}} : tensor<2x4xf32>{{$}}
  %0 = nn.negate %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.abs
  %1 = nn.abs %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.sign
  %2 = nn.sign %n : (tensor<2x4xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: nn.exp
  %3 = nn.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.log
  %4 = nn.log %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.sqrt
  %5 = nn.sqrt %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.rsqrt
  %6 = nn.rsqrt %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.reciprocal
  %7 = nn.reciprocal %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.sin
  %8 = nn.sin %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.cos
  %9 = nn.cos %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.tan
  %10 = nn.tan %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.asin
  %11 = nn.asin %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.acos
  %12 = nn.acos %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.atan
  %13 = nn.atan %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.sinh
  %14 = nn.sinh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.cosh
  %15 = nn.cosh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.tanh
  %16 = nn.tanh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.asinh
  %17 = nn.asinh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.acosh
  %18 = nn.acosh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.atanh
  %19 = nn.atanh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.erf
  %20 = nn.erf %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.sigmoid
  %21 = nn.sigmoid %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.silu
  %22 = nn.silu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.log1p
  %23 = nn.log1p %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.expm1
  %24 = nn.expm1 %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.ceil
  %25 = nn.ceil %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.floor
  %26 = nn.floor %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.round
  %27 = nn.round %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.not
  %28 = nn.not %p : (tensor<2x4xi1>) -> tensor<2x4xi1>
  // CHECK-NEXT: nn.is_nan %{{.+}} : (tensor<2x4xf32>) -> tensor<2x4xi1>
  %29 = nn.is_nan %x : (tensor<2x4xf32>) -> tensor<2x4xi1>
  // CHECK-NEXT: nn.gelu %{{.+}} {tanh} : tensor<2x4xf32>{{$}}
  %30 = nn.gelu %x {tanh} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.add %{{.+}}, %{{.+}} : tensor<2x4xf32>{{$}}
  %31 = nn.add %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.sub
  %32 = nn.sub %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.mul
  %33 = nn.mul %n, %n : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: nn.div
  %34 = nn.div %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.pow
  %35 = nn.pow %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.rem
  %36 = nn.rem %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.max
  %37 = nn.max %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.min
  %38 = nn.min %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.and
  %39 = nn.and %p, %p : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
  // CHECK-NEXT: nn.or
  %40 = nn.or %p, %p : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
  // CHECK-NEXT: nn.xor
  %41 = nn.xor %n, %n : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: nn.shift_left
  %42 = nn.shift_left %n, %n : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: nn.shift_right
  %43 = nn.shift_right %n, %n : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: nn.atan2
  %44 = nn.atan2 %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.compare ge %{{.+}}, %{{.+}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  %45 = nn.compare ge %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  // CHECK-NEXT: nn.select %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %46 = nn.select %p, %x, %x : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.cast %{{.+}} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  %47 = nn.cast %x : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  return
}

// CHECK-LABEL: @layout
func.func @layout(%x: tensor<2x12xf32>) {
  // CHECK-NEXT: nn.constant dense<1.000000e+00> : tensor<4xf32> : tensor<4xf32>
  %0 = nn.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  // CHECK-NEXT: nn.iota : tensor<8xi64>
  %1 = nn.iota : tensor<8xi64>
  // CHECK-NEXT: nn.broadcast %{{.+}} dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  %2 = nn.broadcast %0 dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  // CHECK-NEXT: nn.reshape %{{.+}} : tensor<2x12xf32> -> tensor<2x3x4xf32>
  %3 = nn.reshape %x : tensor<2x12xf32> -> tensor<2x3x4xf32>
  // CHECK-NEXT: nn.transpose %{{.+}} permutation = [1, 0] : tensor<2x12xf32> -> tensor<12x2xf32>
  %4 = nn.transpose %x permutation = [1, 0] : tensor<2x12xf32> -> tensor<12x2xf32>
  // CHECK-NEXT: nn.reverse %{{.+}} dims = [0] : tensor<2x12xf32> -> tensor<2x12xf32>
  %5 = nn.reverse %x dims = [0] : tensor<2x12xf32> -> tensor<2x12xf32>
  // CHECK-NEXT: nn.slice %{{.+}} starts = [0, 4] strides = [1, 2] : tensor<2x12xf32> -> tensor<2x4xf32>
  %6 = nn.slice %x starts = [0, 4] strides = [1, 2] : tensor<2x12xf32> -> tensor<2x4xf32>
  // CHECK-NEXT: nn.concat %{{.+}}, %{{.+}} dim = 1 : (tensor<2x12xf32>, tensor<2x4xf32>) -> tensor<2x16xf32>
  %7 = nn.concat %x, %6 dim = 1 : (tensor<2x12xf32>, tensor<2x4xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: nn.pad %{{.+}} low = [0, 1] high = [1, 0] value = 0.000000e+00 : f32 : tensor<2x12xf32> -> tensor<3x13xf32>
  %8 = nn.pad %x low = [0, 1] high = [1, 0] value = 0.0 : f32 : tensor<2x12xf32> -> tensor<3x13xf32>
  return
}

// CHECK-LABEL: @products
func.func @products(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>, %x: tensor<2x4x8xf32>, %w: tensor<6x2x3xf32>) {
  // CHECK-NEXT: nn.contract %{{.+}}, %{{.+}} lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  // CHECK-NEXT: nn.conv %{{.+}}, %{{.+}} {filter_dilation = array<i64: 1>, groups = 2 : i64, input_dilation = array<i64: 1>, pad_high = array<i64: 1>, pad_low = array<i64: 1>, strides = array<i64: 2>}
  %1 = nn.conv %x, %w {strides = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 1>,
      input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 2 : i64}
      : (tensor<2x4x8xf32>, tensor<6x2x3xf32>) -> tensor<2x6x4xf32>
  return
}

// CHECK-LABEL: @reductions
func.func @reductions(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: nn.reduce sum %{{.+}} dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %0 = nn.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK-NEXT: nn.arg_reduce max %{{.+}} dim = 1 {select_last} : tensor<4x8xf32> -> tensor<4xi64>
  %1 = nn.arg_reduce max %x dim = 1 {select_last} : tensor<4x8xf32> -> tensor<4xi64>
  // CHECK-NEXT: nn.reduce_window max %{{.+}} {dilations = array<i64: 1>, {{.+}}} : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = nn.reduce_window max %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>,
      pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x4xf32>
  // CHECK-NEXT: nn.arg_window %{{.+}} {column_major, {{.+}}} : tensor<4x8xf32> -> tensor<4x4xi64>
  %3 = nn.arg_window %x {column_major, window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>,
      pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x4xi64>
  // CHECK-NEXT: nn.scan sum %{{.+}} dim = 1 {exclusive, reverse} : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = nn.scan sum %x dim = 1 {exclusive, reverse} : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: nn.top_k %{{.+}} dim = 1 {smallest} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %5:2 = nn.top_k %x dim = 1 {smallest} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  return
}

// CHECK-LABEL: @indexing
func.func @indexing(%table: tensor<100x8xf32>, %ids: tensor<2x4x1xi64>, %rows: tensor<2x4x8xf32>) {
  // CHECK-NEXT: nn.gather %{{.+}}, %{{.+}} indexed = [0] operand_batch = [] indices_batch = [] : (tensor<100x8xf32>, tensor<2x4x1xi64>) -> tensor<2x4x8xf32>
  %0 = nn.gather %table, %ids indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<100x8xf32>, tensor<2x4x1xi64>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: nn.scatter add %{{.+}}, %{{.+}}, %{{.+}} indexed = [0] operand_batch = [] indices_batch = []
  %1 = nn.scatter add %table, %ids, %rows indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<100x8xf32>, tensor<2x4x1xi64>, tensor<2x4x8xf32>) -> tensor<100x8xf32>
  return
}

// CHECK-LABEL: @composites
func.func @composites(%x: tensor<2x8xf32>, %s: tensor<8xf32>, %angle: tensor<2x4xf32>, %q: tensor<1x4x6x8xf32>,
                      %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>, %m: tensor<1x4x6x5xf32>) {
  // CHECK-NEXT: nn.softmax %{{.+}} dim = 1 {log} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %0 = nn.softmax %x dim = 1 {log} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: nn.layer_norm %{{.+}}, %{{.+}}, %{{.+}} dim = 1 epsilon = 1.000000e-05 : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %1 = nn.layer_norm %x, %s, %s dim = 1 epsilon = 1.0e-5 : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: nn.layer_norm %{{.+}}, %{{.+}} dim = 1 epsilon = 1.000000e-05 : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %2 = nn.layer_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: nn.rms_norm %{{.+}}, %{{.+}} dim = 1 epsilon = 1.000000e-05
  %3 = nn.rms_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: nn.rope %{{.+}}, %{{.+}}, %{{.+}} {interleaved} : (tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %4 = nn.rope %x, %angle, %angle {interleaved} : (tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: nn.attention %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}} scale = 1.250000e-01 {softcap = 3.000000e+01 : f64}
  %5 = nn.attention %q, %k, %v mask %m scale = 0.125 {softcap = 30.0 : f64} : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>,
      tensor<1x2x5x3xf32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x3xf32>
  // CHECK-NEXT: nn.attention %{{.+}}, %{{.+}}, %{{.+}} scale = 1.250000e-01 {causal}
  %6 = nn.attention %q, %k, %v scale = 0.125 {causal} : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>,
      tensor<1x2x5x3xf32>) -> tensor<1x4x6x3xf32>
  // CHECK-NEXT: nn.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}} scale = 1.250000e-01 {causal}
  %7:3 = nn.attention_grad %q, %k, %v, %5, %6 mask %m scale = 0.125 {causal} : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>,
      tensor<1x2x5x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x5xf32>)
      -> (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>)
  // CHECK-NEXT: nn.attention %{{.+}}, %{{.+}}, %{{.+}} scale = 1.250000e-01 : ({{.+}}) -> (tensor<1x4x6x3xf32>, tensor<1x4x6xf32>)
  %8:2 = nn.attention %q, %k, %v scale = 0.125 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>,
      tensor<1x2x5x3xf32>) -> (tensor<1x4x6x3xf32>, tensor<1x4x6xf32>)
  // CHECK-NEXT: nn.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} log_sum_exp %{{.+}} scale = 1.250000e-01 :
  %9:3 = nn.attention_grad %q, %k, %v, %8#0, %6 log_sum_exp %8#1 scale = 0.125 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>,
      tensor<1x2x5x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6xf32>)
      -> (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>)
  return
}

// State names where its bytes are.
// CHECK-LABEL: @state
// CHECK-SAME: nn.name = "w", nn.source = #nn.source<file = "gpt2.onnx", offset = 4096, length = 16, hash = 7>
func.func @state(%w: tensor<4xf32> {nn.name = "w", nn.source = #nn.source<file = "gpt2.onnx", offset = 4096, length = 16, hash = 7>}) {
  return
}
