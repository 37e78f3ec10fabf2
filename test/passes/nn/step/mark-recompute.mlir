// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-mark-recompute{mode=full}))' | FileCheck %s --check-prefix=MARK
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-mark-recompute{mode=selective}))' | FileCheck %s --check-prefix=SELECTIVE
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-mark-recompute{mode=full},step-clone-recomputed))' | FileCheck %s --check-prefix=CLONE
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-mark-recompute{mode=full}))' --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Analysis] recomputed
// REMARK-SAME: step-mark-recompute
// REMARK-SAME: recomputes {{[0-9]+}} flops in the backward pass, which reads {{[0-9]+}} bytes of activations instead of {{[0-9]+}}

// Two residual blocks. Their sums are cuts and are kept, the last one too; what stands between them is not.
// MARK-LABEL: func.func @step
// MARK: nn.contract {{.*}}nn.recompute
// MARK: nn.tanh {{.*}}nn.recompute
// MARK: nn.add %
// MARK-NOT: nn.recompute
// MARK: nn.contract {{.*}}nn.recompute
// MARK: nn.tanh {{.*}}nn.recompute
// MARK: nn.add %
// MARK-NOT: nn.recompute

// Products are kept, what is cheap is not.
// SELECTIVE-LABEL: func.func @step
// SELECTIVE: nn.contract
// SELECTIVE-NOT: nn.recompute
// SELECTIVE: nn.tanh {{.*}}nn.recompute

// The clone stands in front of its first reader, with the clone of what it needs; cuts are read as they are.
// CLONE-LABEL: func.func @step
// CLONE: %[[FIRST:.+]] = nn.add
// CLONE: %[[SECOND:.+]] = nn.add
// CLONE: %[[SEED:.+]] = nn.mul %[[SECOND]], %[[SECOND]] {nn.role = "input_gradient"}
// CLONE-NEXT: %[[PRODUCT:.+]] = nn.contract %[[FIRST]], {{.*}}nn.role = "input_gradient"
// CLONE-NEXT: %[[TANH:.+]] = nn.tanh %[[PRODUCT]] {nn.role = "input_gradient"}
// CLONE-NEXT: nn.mul %[[SEED]], %[[TANH]]
// CLONE-NOT: nn.recompute
func.func @step(%x: tensor<4x6xf32> {nn.name = "x"}, %w: tensor<6x6xf32> {nn.name = "w", nn.initial = 1.0 : f32})
    -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %e = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %0 = nn.contract %e, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %1 = nn.tanh %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = nn.add %e, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = nn.contract %2, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %4 = nn.tanh %3 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = nn.add %2, %4 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %l = nn.exp %5 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = nn.mul %5, %5 {nn.role = "input_gradient"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %g1 = nn.mul %s, %4 {nn.role = "input_gradient"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %g2 = nn.mul %g1, %1 {nn.role = "input_gradient"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %l, %g2 : tensor<4x6xf32>, tensor<4x6xf32>
}

// A weight that the backward pass gathers for itself (here: negates) is not kept from the forward pass on: the
// clone reads the backward pass's own, made in front of it.
// MARK-LABEL: func.func @gathers
// CLONE-LABEL: func.func @gathers
// CLONE: %[[FORWARD:.+]] = nn.negate %{{[^ ]+}} :
// CLONE: nn.contract %{{.+}}, %[[FORWARD]]
// CLONE: %[[BACKWARD:.+]] = nn.negate %{{[^ ]+}} {nn.role = "input_gradient"}
// CLONE-NEXT: nn.contract %{{.+}}, %[[BACKWARD]]
// CLONE-NEXT: nn.mul
// CLONE-NEXT: nn.contract %{{.+}}, %[[BACKWARD]]
func.func @gathers(%x: tensor<6x6xf32>, %w: tensor<6x6xf32>) -> (tensor<6x6xf32>, tensor<6x6xf32>) {
  %f = nn.negate %w : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %0 = nn.contract %x, %f lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.recompute}
    : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %1 = nn.exp %0 : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %s = nn.mul %1, %1 {nn.role = "input_gradient"} : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %g = nn.mul %s, %0 {nn.role = "input_gradient"} : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %b = nn.negate %w {nn.role = "input_gradient"} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %h = nn.contract %g, %b lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 {nn.role = "input_gradient"}
    : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  return %1, %h : tensor<6x6xf32>, tensor<6x6xf32>
}
