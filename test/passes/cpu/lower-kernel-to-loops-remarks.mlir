// RUN: weft-opt %s --pass-pipeline="builtin.module(func.func(convert-nn-to-linalg),cpu-lower-kernel-to-loops)" --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// A scan over the only dim has no parts for threads, whatever it costs; a small one is not told.

// CHECK-NOT: remark: 
// CHECK: remark: [Missed] serial
// CHECK-SAME: runs on one thread, for about {{[0-9]+}} us: no dim of its results can be cut
// CHECK-NOT: remark: 
func.func @scan(%a: tensor<4194304xf32>) -> tensor<4194304xf32> {
  %b = nn.scan sum %a dim = 0 : tensor<4194304xf32> -> tensor<4194304xf32>
  return %b : tensor<4194304xf32>
}
func.func @small(%a: tensor<8xf32>) -> tensor<8xf32> {
  %b = nn.scan sum %a dim = 0 : tensor<8xf32> -> tensor<8xf32>
  return %b : tensor<8xf32>
}
