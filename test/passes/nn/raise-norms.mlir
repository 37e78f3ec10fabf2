// RUN: weft-opt %s --nn-raise-norms | FileCheck %s

// Division by the root, then scale and bias: one op.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%[[X:.+]]: tensor<2x8xf32>, %[[W:.+]]: tensor<8xf32>, %[[B:.+]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.+]] = nn.layer_norm %[[X]], %[[W]], %[[B]] dim = 1 epsilon = {{1.0[0-9]*E-5|9.99[0-9]*E-6}}
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %count = nn.constant dense<8.0> : tensor<2xf32> : tensor<2xf32>
  %epsilon = nn.constant dense<1.0e-5> : tensor<2xf32> : tensor<2xf32>
  %0 = nn.reduce sum %x dims = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %1 = nn.div %0, %count : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = nn.broadcast %1 dims = [0] : tensor<2xf32> -> tensor<2x8xf32>
  %3 = nn.sub %x, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = nn.mul %3, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = nn.reduce sum %4 dims = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %6 = nn.div %5, %count : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %7 = nn.add %6, %epsilon : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %8 = nn.sqrt %7 : (tensor<2xf32>) -> tensor<2xf32>
  %9 = nn.broadcast %8 dims = [0] : tensor<2xf32> -> tensor<2x8xf32>
  %10 = nn.div %3, %9 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %11 = nn.broadcast %w dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %12 = nn.mul %10, %11 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %13 = nn.broadcast %b dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %14 = nn.add %12, %13 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %14 : tensor<2x8xf32>
}

// Multiplication by one over the root, the scale on the left.
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME: (%[[X:.+]]: tensor<2x8xf32>, %[[W:.+]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.+]] = nn.rms_norm %[[X]], %[[W]] dim = 1 epsilon = {{1.0[0-9]*E-6|9.99[0-9]*E-7}}
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm(%x: tensor<2x8xf32>, %w: tensor<8xf32>) -> tensor<2x8xf32> {
  %part = nn.constant dense<0.125> : tensor<2xf32> : tensor<2xf32>
  %one = nn.constant dense<1.0> : tensor<2xf32> : tensor<2xf32>
  %epsilon = nn.constant dense<1.0e-6> : tensor<2xf32> : tensor<2xf32>
  %0 = nn.mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %2 = nn.mul %1, %part : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = nn.add %2, %epsilon : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = nn.sqrt %3 : (tensor<2xf32>) -> tensor<2xf32>
  %5 = nn.div %one, %4 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %6 = nn.broadcast %5 dims = [0] : tensor<2xf32> -> tensor<2x8xf32>
  %7 = nn.mul %x, %6 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %8 = nn.broadcast %w dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %9 = nn.mul %8, %7 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %9 : tensor<2x8xf32>
}

// Means of small floats are of wider sums.
// CHECK-LABEL: func.func @layer_norm_of_small_floats
// CHECK-SAME: (%[[X:.+]]: tensor<2x8xf16>)
// CHECK: %[[Y:.+]] = nn.layer_norm %[[X]], %{{.+}} dim = 1 epsilon = {{1.00[0-9]*E-5}}
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm_of_small_floats(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %count = nn.constant dense<8.0> : tensor<2xf32> : tensor<2xf32>
  %epsilon = nn.constant dense<1.0013580322265625e-05> : tensor<2xf16> : tensor<2xf16>
  %wide = nn.cast %x : (tensor<2x8xf16>) -> tensor<2x8xf32>
  %0 = nn.reduce sum %wide dims = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %1 = nn.div %0, %count : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %mean = nn.cast %1 : (tensor<2xf32>) -> tensor<2xf16>
  %2 = nn.broadcast %mean dims = [0] : tensor<2xf16> -> tensor<2x8xf16>
  %3 = nn.sub %x, %2 : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  %4 = nn.mul %3, %3 : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  %squares = nn.cast %4 : (tensor<2x8xf16>) -> tensor<2x8xf32>
  %5 = nn.reduce sum %squares dims = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %6 = nn.div %5, %count : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %variance = nn.cast %6 : (tensor<2xf32>) -> tensor<2xf16>
  %7 = nn.add %variance, %epsilon : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  %8 = nn.sqrt %7 : (tensor<2xf16>) -> tensor<2xf16>
  %9 = nn.broadcast %8 dims = [0] : tensor<2xf16> -> tensor<2x8xf16>
  %10 = nn.div %3, %9 : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
  return %10 : tensor<2x8xf16>
}

// Division by the l2 norm has no mean in it: not a normalisation of this kind.
// CHECK-LABEL: func.func @l2
// CHECK-NOT: nn.rms_norm
// CHECK: nn.div
func.func @l2(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = nn.mul %y, %y : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %2 = nn.sqrt %1 : (tensor<2xf32>) -> tensor<2xf32>
  %3 = nn.broadcast %2 dims = [0] : tensor<2xf32> -> tensor<2x8xf32>
  %4 = nn.div %x, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// A bound from below is no epsilon: of a row of 1e-5 it leaves 1, the epsilon 0.707.
// CHECK-LABEL: func.func @bounded_root
// CHECK-NOT: nn.rms_norm
// CHECK: nn.max
func.func @bounded_root(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %count = nn.constant dense<8.0> : tensor<2xf32> : tensor<2xf32>
  %least = nn.constant dense<1.0e-5> : tensor<2xf32> : tensor<2xf32>
  %0 = nn.mul %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %2 = nn.div %1, %count : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = nn.sqrt %2 : (tensor<2xf32>) -> tensor<2xf32>
  %4 = nn.max %3, %least : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = nn.broadcast %4 dims = [0] : tensor<2xf32> -> tensor<2x8xf32>
  %6 = nn.div %x, %5 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}
