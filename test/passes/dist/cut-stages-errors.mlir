// RUN: weft-opt %s --split-input-file --verify-diagnostics --dist-attach-mesh="mesh=pp=3 stages=pp" --dist-insert-reshards --dist-cut-stages
// RUN: not weft-opt %s --dist-attach-mesh="mesh=dp=3 stages=pp" 2>&1 | FileCheck %s --check-prefix=AXIS

// AXIS: stages are counted by one axis of the mesh; 'pp' names 0 of 'dp=3'

// expected-error @below {{cannot be cut into 3 stages: it has 1 ops that depend on both weights and inputs, and each stage needs one; use at most 1 stages}}
func.func @short(%x: tensor<4x8xf32> {nn.name = "x"}, %w: tensor<8x8xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<4x8xf32> {nn.name = "y"}) {
  %1 = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
