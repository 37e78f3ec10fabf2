// RUN: weft-opt %s --mlir-print-debuginfo --pass-pipeline='builtin.module(func.func(nn-clone-positions))' | FileCheck %s

// The mask is made from counters: each node has its own, all ops of one node share it. The constant and
// the counter stay one.
// CHECK-LABEL: func.func @masks
// CHECK: %[[COUNT:.+]] = nn.iota
// CHECK: %[[WIDE:.+]] = nn.broadcast %[[COUNT]]
// CHECK: %[[FIRST:.+]] = nn.compare ge %[[WIDE]]
// CHECK: nn.select %[[FIRST]]
// CHECK: nn.select %[[FIRST]]
// CHECK: nn.broadcast %[[COUNT]]
// CHECK: %[[SECOND:.+]] = nn.compare ge
// CHECK: nn.select %[[SECOND]]
// CHECK-NOT: nn.compare
func.func @masks(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = nn.iota : tensor<4xi64> loc("mask")
  %1 = nn.broadcast %0 dims = [0] : tensor<4xi64> -> tensor<4x4xi64> loc("mask")
  %2 = nn.broadcast %0 dims = [1] : tensor<4xi64> -> tensor<4x4xi64> loc("mask")
  %3 = nn.compare ge %1, %2 : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1> loc("mask")
  %4 = nn.select %3, %x, %y : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer0")
  %5 = nn.select %3, %4, %y : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer0")
  %6 = nn.select %3, %y, %x : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer1")
  return %5, %6 : tensor<4x4xf32>, tensor<4x4xf32>
}
