// RUN: weft-opt %s --canonicalize | FileCheck %s

// Ops that change nothing vanish.
// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:.+]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
                                               tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = nn.reshape %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = nn.transpose %x permutation = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = nn.broadcast %x dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = nn.slice %x starts = [0, 0] strides = [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = nn.concat %x dim = 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = nn.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// A square transpose has equal types but moves elements.
// CHECK-LABEL: @square
// CHECK: nn.transpose
func.func @square(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = nn.transpose %x permutation = [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// Chains of one kind become one op.
// CHECK-LABEL: @chains
// CHECK-SAME: (%[[X:.+]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[T:.+]] = nn.transpose %[[X]] permutation = [2, 1, 0]
// CHECK-NEXT: %[[R:.+]] = nn.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<24xf32>
// CHECK-NEXT: %[[B:.+]] = nn.broadcast %[[X]] dims = [1, 3, 4]
// CHECK-NEXT: %[[S:.+]] = nn.slice %[[X]] starts = [0, 1, 2] strides = [1, 2, 2]
// CHECK-NEXT: return %[[T]], %[[R]], %[[B]], %[[S]]
func.func @chains(%x: tensor<2x3x4xf32>) -> (tensor<4x3x2xf32>, tensor<24xf32>, tensor<5x2x6x3x4xf32>, tensor<2x1x1xf32>) {
  %0 = nn.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = nn.transpose %0 permutation = [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  %2 = nn.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %3 = nn.reshape %2 : tensor<6x4xf32> -> tensor<24xf32>
  %4 = nn.broadcast %x dims = [0, 2, 3] : tensor<2x3x4xf32> -> tensor<2x6x3x4xf32>
  %5 = nn.broadcast %4 dims = [1, 2, 3, 4] : tensor<2x6x3x4xf32> -> tensor<5x2x6x3x4xf32>
  %6 = nn.slice %x starts = [0, 1, 0] strides = [1, 1, 2] : tensor<2x3x4xf32> -> tensor<2x2x2xf32>
  %7 = nn.slice %6 starts = [0, 0, 1] strides = [1, 2, 1] : tensor<2x2x2xf32> -> tensor<2x1x1xf32>
  return %1, %3, %5, %7 : tensor<4x3x2xf32>, tensor<24xf32>, tensor<5x2x6x3x4xf32>, tensor<2x1x1xf32>
}

// Two transposes that undo each other leave nothing.
// CHECK-LABEL: @undone
// CHECK-SAME: (%[[X:.+]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @undone(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = nn.transpose %0 permutation = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// Shape arithmetic on small constants is evaluated, whatever the op.
// CHECK-LABEL: @shape_arithmetic
// CHECK-NEXT: %[[SHAPE:.+]] = nn.constant dense<[6, 4]> : tensor<2xi64>
// CHECK-NEXT: return %[[SHAPE]]
func.func @shape_arithmetic() -> tensor<2xi64> {
  %shape = nn.constant dense<[2, 3, 4]> : tensor<3xi64> : tensor<3xi64>
  %0 = nn.slice %shape starts = [0] strides = [1] : tensor<3xi64> -> tensor<2xi64>
  %1 = nn.reduce prod %0 dims = [0] : tensor<2xi64> -> tensor<i64>
  %2 = nn.reshape %1 : tensor<i64> -> tensor<1xi64>
  %3 = nn.slice %shape starts = [2] strides = [1] : tensor<3xi64> -> tensor<1xi64>
  %4 = nn.concat %2, %3 dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  return %4 : tensor<2xi64>
}

// Results are rounded to their element type: 1 + 2^-30 is 1 in f32.
// CHECK-LABEL: @rounded
// CHECK-NEXT: nn.constant dense<1.000000e+00> : tensor<f32>
func.func @rounded() -> tensor<f32> {
  %0 = nn.constant dense<1.0> : tensor<f32> : tensor<f32>
  %1 = nn.constant dense<9.31322574615478515625E-10> : tensor<f32> : tensor<f32>
  %2 = nn.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// A splat stays a splat however large it becomes; other large constants stay ops.
// CHECK-LABEL: @sizes
// CHECK-DAG: nn.constant dense<2.000000e+00> : tensor<1000x1000xf32>
// CHECK-DAG: nn.constant dense<6> : tensor<1000x1000xi64>
// CHECK: %[[ROW:.+]] = nn.iota
// CHECK: nn.broadcast %[[ROW]]
func.func @sizes() -> (tensor<1000x1000xf32>, tensor<1000x1000xi64>, tensor<1000x1000xf32>) {
  %0 = nn.constant dense<2.0> : tensor<f32> : tensor<f32>
  %1 = nn.broadcast %0 dims = [] : tensor<f32> -> tensor<1000x1000xf32>
  %2 = nn.iota : tensor<1000xf32>
  %3 = nn.broadcast %2 dims = [1] : tensor<1000xf32> -> tensor<1000x1000xf32>
  %4 = nn.cast %1 : (tensor<1000x1000xf32>) -> tensor<1000x1000xi64>
  %5 = nn.mul %4, %4 : (tensor<1000x1000xi64>, tensor<1000x1000xi64>) -> tensor<1000x1000xi64>
  %6 = nn.add %5, %4 : (tensor<1000x1000xi64>, tensor<1000x1000xi64>) -> tensor<1000x1000xi64>
  return %1, %6, %3 : tensor<1000x1000xf32>, tensor<1000x1000xi64>, tensor<1000x1000xf32>
}

// With an encoding the type of the middle value is part of the program.
// CHECK-LABEL: @placed
// CHECK-COUNT-2: nn.reshape
func.func @placed(%x: tensor<4x6xf32, "a">) -> tensor<24xf32, "c"> {
  %0 = nn.reshape %x : tensor<4x6xf32, "a"> -> tensor<2x12xf32, "b">
  %1 = nn.reshape %0 : tensor<2x12xf32, "b"> -> tensor<24xf32, "c">
  return %1 : tensor<24xf32, "c">
}

// Equal shapes with different encodings are different types.
// CHECK-LABEL: @replaced
// CHECK: nn.reshape
func.func @replaced(%x: tensor<4xf32, "a">) -> tensor<4xf32, "b"> {
  %0 = nn.reshape %x : tensor<4xf32, "a"> -> tensor<4xf32, "b">
  return %0 : tensor<4xf32, "b">
}
