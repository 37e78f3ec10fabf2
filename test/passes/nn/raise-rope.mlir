// RUN: weft-opt %s --nn-raise-rope | FileCheck %s

// Halves turned; the tables are made of one half twice.
// CHECK-LABEL: func.func @halves
// CHECK-SAME: (%[[X:.+]]: tensor<3x4xf32>, %[[ANGLE:.+]]: tensor<3x2xf32>)
// CHECK-DAG: %[[COS:.+]] = nn.cos %[[ANGLE]] : tensor<3x2xf32>
// CHECK-DAG: %[[SIN:.+]] = nn.sin %[[ANGLE]] : tensor<3x2xf32>
// CHECK: %[[Y:.+]] = nn.rope %[[X]], %[[COS]], %[[SIN]] : (tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @halves(%x: tensor<3x4xf32>, %angle: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %0 = nn.concat %angle, %angle dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %1 = nn.cos %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = nn.sin %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = nn.slice %x starts = [0, 0] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32>
  %4 = nn.slice %x starts = [0, 2] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32>
  %5 = nn.negate %4 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %6 = nn.concat %5, %3 dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %7 = nn.mul %x, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %8 = nn.mul %6, %2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %9 = nn.add %7, %8 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %9 : tensor<3x4xf32>
}

// Even and odd elements turned; constant tables with equal neighbours.
// CHECK-LABEL: func.func @interleaved
// CHECK-SAME: (%[[X:.+]]: tensor<2x4xf32>)
// CHECK-DAG: nn.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]>
// CHECK: nn.rope %[[X]], {{.+}} {interleaved}
func.func @interleaved(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %cos = nn.constant dense<[[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0]]> : tensor<2x4xf32> : tensor<2x4xf32>
  %sin = nn.constant dense<[[5.0, 5.0, 6.0, 6.0], [7.0, 7.0, 8.0, 8.0]]> : tensor<2x4xf32> : tensor<2x4xf32>
  %0 = nn.slice %x starts = [0, 0] strides = [1, 2] : tensor<2x4xf32> -> tensor<2x2xf32>
  %1 = nn.slice %x starts = [0, 1] strides = [1, 2] : tensor<2x4xf32> -> tensor<2x2xf32>
  %2 = nn.negate %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = nn.reshape %2 : tensor<2x2xf32> -> tensor<2x2x1xf32>
  %4 = nn.reshape %0 : tensor<2x2xf32> -> tensor<2x2x1xf32>
  %5 = nn.concat %3, %4 dim = 2 : (tensor<2x2x1xf32>, tensor<2x2x1xf32>) -> tensor<2x2x2xf32>
  %6 = nn.reshape %5 : tensor<2x2x2xf32> -> tensor<2x4xf32>
  %7 = nn.mul %x, %cos : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = nn.mul %6, %sin : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = nn.add %7, %8 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %9 : tensor<2x4xf32>
}

// Tables that nothing proves equal on both elements of a pair: not a rotation.
// CHECK-LABEL: func.func @unproven
// CHECK-NOT: nn.rope
// CHECK: return
func.func @unproven(%x: tensor<3x4xf32>, %cos: tensor<3x4xf32>, %sin: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %3 = nn.slice %x starts = [0, 0] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32>
  %4 = nn.slice %x starts = [0, 2] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32>
  %5 = nn.negate %4 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %6 = nn.concat %5, %3 dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %7 = nn.mul %x, %cos : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %8 = nn.mul %6, %sin : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %9 = nn.add %7, %8 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %9 : tensor<3x4xf32>
}

// Parts that are no halves: -x2, x0, x1, x2 is no rotation.
// CHECK-LABEL: func.func @uneven
// CHECK-NOT: nn.rope
// CHECK: return
func.func @uneven(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %cos = nn.constant dense<[[1.0, 2.0, 1.0, 2.0], [3.0, 4.0, 3.0, 4.0]]> : tensor<2x4xf32> : tensor<2x4xf32>
  %sin = nn.constant dense<[[5.0, 6.0, 5.0, 6.0], [7.0, 8.0, 7.0, 8.0]]> : tensor<2x4xf32> : tensor<2x4xf32>
  %0 = nn.slice %x starts = [0, 2] strides = [1, 1] : tensor<2x4xf32> -> tensor<2x1xf32>
  %1 = nn.slice %x starts = [0, 0] strides = [1, 1] : tensor<2x4xf32> -> tensor<2x3xf32>
  %2 = nn.negate %0 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = nn.concat %2, %1 dim = 1 : (tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  %4 = nn.mul %x, %cos : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = nn.mul %3, %sin : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = nn.add %4, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}
