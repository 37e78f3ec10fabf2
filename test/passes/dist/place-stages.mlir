// What would split a value over stages is refused by name, whoever asks for it.
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2,dp=2 stages=pp" --dist-place="batch-axes=pp" 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: batch-axes: axis 'pp' counts stages of a pipeline, over which nothing is split
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2,dp=2 stages=pp" --dist-place="rules=x=dim0:pp" 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: placement 'x=dim0:pp': axis 'pp' counts stages of a pipeline, over which nothing is split
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2,dp=2 stages=pp" --dist-place="batch-axes=dp" --dist-place-state="axis=pp slots=sharded" 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: state cannot be split over axis 'pp', which counts stages of a pipeline; each holds its own
func.func @forward(%x: tensor<8x4xf32> {nn.name = "x"}, %w: tensor<4x4xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<8x4xf32> {nn.name = "y"}) {
  %0 = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
