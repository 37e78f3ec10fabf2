// RUN: not weft-opt %s --split-input-file --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=2 microbatches=2},dist-place{batch-axes=dp},dist-propagate,dist-insert-reshards,dist-partition,dist-form-loops)" 2>&1 | FileCheck %s
// RUN: not weft-opt %s --pass-pipeline="builtin.module(dist-attach-mesh{mesh=dp=4 microbatches=4},dist-place{batch-axes=dp})" --split-input-file 2>&1 | FileCheck %s --check-prefix=FEW

// A mean over the batch between two products: the first product's rows would have to be kept.
// CHECK: error: 'nn.contract' is needed before and after a reduction over the whole batch
// CHECK-SAME: use --batch-stats per-microbatch if these are statistics of the batch, or --microbatches 1
// FEW: a batch of 8 cannot be cut into 16 shards (data parallel times microbatches); raise the batch or lower --microbatches
func.func @step(%x: tensor<8x4xf32> {nn.dims = ["batch", ""], nn.name = "x"},
    %w: tensor<4x4xf32> {nn.name = "w", nn.source = #nn.source<file = "", offset = 0, length = 64>}) -> (tensor<f32> {nn.name = "loss"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.reduce sum %0 dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %2 = nn.broadcast %1 dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
  %3 = nn.sub %0, %2 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = nn.mul %3, %3 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = nn.reduce sum %4 dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %5 : tensor<f32>
}

// -----

// A softmax over the batch, and its rows beside those of the product that it is of.
// CHECK: error: 'nn.contract' is needed before and after 'nn.softmax' reads the rows of all microbatches, but only one microbatch exists at a time
func.func @step(%x: tensor<8x4xf32> {nn.dims = ["batch", ""], nn.name = "x"},
    %w: tensor<4x4xf32> {nn.name = "w", nn.source = #nn.source<file = "", offset = 0, length = 64>}) -> (tensor<f32> {nn.name = "loss"}) {
  %t = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %0 = nn.softmax %t dim = 0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.mul %0, %t : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = nn.reduce sum %1 dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %2 : tensor<f32>
}
