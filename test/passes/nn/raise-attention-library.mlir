// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(nn-raise-attention{target=cuda precision=bf16}))' | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(nn-raise-attention{target=cuda}))' | FileCheck %s --check-prefix=F32
// RUN: not weft-opt %s --pass-pipeline='builtin.module(func.func(nn-raise-attention{target=tpu}))' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(nn-raise-attention{target=cuda precision=bf16}))' --remarks-filter="nn-raise-attention" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// In bf16 heads of 8 are cuDNN's, those of 4 are not; in f32 none are.
// CHECK-LABEL: @eight
// CHECK: nn.attention
// F32-NOT: nn.attention
// NONE: 'tpu' and 'f32' must be a target and a type
func.func @eight(%q: tensor<2x3x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %0 = nn.contract %q, %k lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x3xf32>
  %1 = nn.softmax %0 dim = 2 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %2 = nn.contract %1, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x3x3xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %2 : tensor<2x3x8xf32>
}
// REMARK: remark: [Missed] NotOfLibrary | Category:nn-raise-attention {{.*}}attention stays products and a softmax: the library of the target does no heads of 4 and 4 in its type
// CHECK-LABEL: @four
// CHECK-NOT: nn.attention
func.func @four(%q: tensor<2x3x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = nn.contract %q, %k lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  %1 = nn.softmax %0 dim = 2 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %2 = nn.contract %1, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %2 : tensor<2x3x4xf32>
}
