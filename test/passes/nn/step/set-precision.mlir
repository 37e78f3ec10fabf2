// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=bf16}))' | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=f64}))' | FileCheck %s --check-prefix=F64
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=f16}))' | FileCheck %s --check-prefix=F16

// Inside everything is bf16; the border keeps its types, state is converted when
// loaded, and sums stay f32.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:.+]]: tensor<4x8xf32> {nn.name = "x"}
// CHECK-SAME: tensor<8x4xbf16> {{.*}}nn.source_type = f32
// CHECK-SAME: -> tensor<4x4xf32>
// CHECK: %[[C:.+]] = nn.cast %[[X]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK: nn.contract %[[C]], {{.*}} accumulate = f32 : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xbf16>
// CHECK: nn.constant dense<2.0{{.*}}tensor<4x4xbf16>
// CHECK: nn.cast {{.*}}tensor<4x4xf32>
// A mask of the lowest f32 stays finite: times zero it must be zero.
// F16: nn.constant dense<-6.550400e+04> : tensor<4x4xf16>
// F64: nn.contract {{.*}} accumulate = f64
func.func @forward(%x: tensor<4x8xf32> {nn.name = "x"},
                   %w: tensor<8x4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 128>})
    -> tensor<4x4xf32> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %c = nn.constant dense<2.0> : tensor<4x4xf32> : tensor<4x4xf32>
  %1 = nn.mul %0, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = nn.constant dense<-3.40282347E+38> : tensor<4x4xf32> : tensor<4x4xf32>
  %2 = nn.add %1, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
