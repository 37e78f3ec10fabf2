// RUN: weft-opt %s --rt-split-reductions --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// Which sums run on one thread, and for which size.

// CHECK: remark: [Missed] serial
// CHECK-SAME: reduces 1048573 elements on one thread: its first size above 1, 1048573, has no divisor from 2 to 256"
func.func @prime(%x: tensor<1048573xf32>) -> tensor<f32> {
  %0 = nn.reduce sum %x dims = [0] : tensor<1048573xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// Later sizes are not cut by.
// CHECK-NOT: remark: 
// CHECK: remark: [Missed] serial
// CHECK-SAME: reduces 8388584 elements on one thread: its first size above 1, 1048573, has no divisor from 2 to 256"
func.func @before(%x: tensor<1x1048573x8xf32>) -> tensor<f32> {
  %0 = nn.reduce sum %x dims = [0, 1, 2] : tensor<1x1048573x8xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// What is cut is not told, nor what is small.
// CHECK-NOT: remark: 
func.func @divisible(%x: tensor<1048576xf32>) -> tensor<f32> {
  %0 = nn.reduce sum %x dims = [0] : tensor<1048576xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @small(%x: tensor<8191xf32>) -> tensor<f32> {
  %0 = nn.reduce sum %x dims = [0] : tensor<8191xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
