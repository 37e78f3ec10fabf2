// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=f16}))' --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// Constants that the type cannot hold.

// CHECK: remark: [Missed] rounded
// CHECK-SAME: step-set-precision
// CHECK-SAME: constants out of the range of f16 become its largest number or zero
// CHECK-NOT: remark:
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) -> tensor<4xf32> {
  %lowest = nn.constant dense<-3.40282347E+38> : tensor<4xf32> : tensor<4xf32>
  %half = nn.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %0 = nn.add %x, %lowest : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %0, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
