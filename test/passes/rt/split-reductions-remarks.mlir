// RUN: weft-opt %s --rt-split-reductions --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// A prime number of elements has no parts for threads.

// CHECK: remark: [Missed] serial
// CHECK-SAME: adds up 1048573 elements on one thread: its sizes have no divisor to cut them by
func.func @prime(%x: tensor<1048573xf32>) -> tensor<f32> {
  %0 = nn.reduce sum %x dims = [0] : tensor<1048573xf32> -> tensor<f32>
  return %0 : tensor<f32>
}
