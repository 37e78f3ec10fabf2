// RUN: weft-opt %s --convert-nn-to-linalg --split-input-file | FileCheck %s

// An elementwise op is one parallel generic; unsigned types lose their sign in
// types and keep it in ops.
// CHECK: #[[WHOLE:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME: %[[A:.+]]: tensor<4x8xi8>, %[[B:.+]]: tensor<4x8xi8>) -> tensor<4x8xi8>
// CHECK: linalg.generic {indexing_maps = [#[[WHOLE]], #[[WHOLE]], #[[WHOLE]]], iterator_types = ["parallel", "parallel"]}
// CHECK: arith.maxui
// CHECK-NOT: nn.
func.func @unsigned(%a: tensor<4x8xui8>, %b: tensor<4x8xui8>) -> tensor<4x8xui8> {
  %r = nn.max %a, %b : (tensor<4x8xui8>, tensor<4x8xui8>) -> tensor<4x8xui8>
  return %r : tensor<4x8xui8>
}

// -----

// Small floats are computed in f32 and rounded at the op's border.
// CHECK-LABEL: func.func @small(
// CHECK: %[[WIDE:.+]] = arith.extf %{{.+}} : bf16 to f32
// CHECK: %[[RESULT:.+]] = math.exp %[[WIDE]] : f32
// CHECK: arith.truncf %[[RESULT]] : f32 to bf16
func.func @small(%a: tensor<4xbf16>) -> tensor<4xbf16> {
  %r = nn.exp %a : (tensor<4xbf16>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// -----

// Only where the innermost loop is a reduction may its order change.
// CHECK-LABEL: func.func @orders(
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK: arith.addf {{.*}} fastmath<reassoc>
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: arith.addf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f32
func.func @orders(%a: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %r = nn.reduce sum %a dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %c = nn.reduce sum %a dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  return %r, %c : tensor<4xf32>, tensor<8xf32>
}

// -----

// A long sum is taken in pieces, so that its error stays small.
// CHECK-LABEL: func.func @long(
// CHECK: tensor.expand_shape {{.*}} : tensor<4096x8xf32> into tensor<64x64x8xf32>
// CHECK: -> tensor<64x8xf32>
// CHECK: -> tensor<8xf32>
func.func @long(%a: tensor<4096x8xf32>) -> tensor<8xf32> {
  %r = nn.reduce sum %a dims = [0] : tensor<4096x8xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// So is one over several dims, the last ones first; in f64 there is no need.
// CHECK-LABEL: func.func @several(
// CHECK: tensor.empty() : tensor<4x8xf32>
// CHECK: iterator_types = ["parallel", "parallel", "reduction", "reduction"]
// CHECK: tensor.empty() : tensor<8xf32>
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: iterator_types = ["reduction", "parallel", "reduction", "reduction"]
func.func @several(%a: tensor<4x8x16x16xf32>, %b: tensor<4x8x16x16xf64>) -> (tensor<8xf32>, tensor<8xf64>) {
  %r = nn.reduce sum %a dims = [0, 2, 3] : tensor<4x8x16x16xf32> -> tensor<8xf32>
  %s = nn.reduce sum %b dims = [0, 2, 3] : tensor<4x8x16x16xf64> -> tensor<8xf64>
  return %r, %s : tensor<8xf32>, tensor<8xf64>
}

// -----

// Division by zero gives 0 and the least integer by -1 wraps; neither traps.
// CHECK-LABEL: func.func @division(
// CHECK: %[[SAFE:.+]] = arith.select %{{.+}}, %c1_i32{{.*}}, %{{.+}} : i32
// CHECK: arith.divsi %{{.+}}, %[[SAFE]] : i32
func.func @division(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %r = nn.div %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// -----

// What runs sequentially along a dim is a forall over the others.
// CHECK-LABEL: func.func @scan(
// CHECK: scf.forall (%[[ROW:.+]]) in (4) shared_outs
// CHECK: scf.for
// CHECK: tensor.parallel_insert_slice %{{.+}} into %{{.+}}[%[[ROW]], 0] [1, 8] [1, 1]
func.func @scan(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = nn.scan sum %a dim = 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A window over no dim sees the one element of its position.
// CHECK-LABEL: func.func @window_of_nothing(
// CHECK-NOT: scf.if
// CHECK: tensor.extract
func.func @window_of_nothing(%a: tensor<4xf32>) -> tensor<4xi64> {
  %0 = nn.arg_window %a {window = array<i64>, strides = array<i64>, pad_low = array<i64>, pad_high = array<i64>, dilations = array<i64>} : tensor<4xf32> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
