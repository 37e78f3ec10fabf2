// RUN: weft-opt %s --rt-fuse-kernels --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// What runs slower than the model suggests is told, at the op.

// CHECK: remark: [Missed] generated
// CHECK-SAME: runs as generated code: the library does not take its types
func.func @mixed(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf64> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f64
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf64>
  return %0 : tensor<4x4xf64>
}

// CHECK: remark: [Missed] copied
// CHECK-SAME: operand 0 is copied, to lie in memory of its own
func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK: remark: [Missed] copied
// CHECK-SAME: is copied: what reads it cannot read the strides that it has
func.func @transposed(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = nn.transpose %x permutation = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
