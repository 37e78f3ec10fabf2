// RUN: weft-opt %s --pass-pipeline="builtin.module(func.func(convert-nn-to-linalg),cpu-lower-kernel-to-loops{stack-limit=1024})" | FileCheck %s

// The sums of 1024 rows do not fit on the stack, and the results share no first dim: both are cut into rows, 64 at a time.
// CHECK: func.func @rows({{.*}}) attributes {rt.parallel_extent = 32
func.func @rows(%a: tensor<2x1024x4xf32>) -> (tensor<2x1024xf32>, tensor<8192xf32>) {
  %sum = nn.reduce sum %a dims = [2] : tensor<2x1024x4xf32> -> tensor<2x1024xf32>
  %four = nn.constant dense<4.0> : tensor<2x1024xf32> : tensor<2x1024xf32>
  %mean = nn.div %sum, %four : tensor<2x1024xf32>
  %means = nn.broadcast %mean dims = [0, 1] : tensor<2x1024xf32> -> tensor<2x1024x4xf32>
  %d = nn.sub %a, %means : tensor<2x1024x4xf32>
  %flat = nn.reshape %d : tensor<2x1024x4xf32> -> tensor<8192xf32>
  return %mean, %flat : tensor<2x1024xf32>, tensor<8192xf32>
}

// Where the dim in which they differ has parts that rows end at, these are units.
// CHECK: func.func @parts({{.*}}) attributes {rt.parallel_extent = 2048
func.func @parts(%a: tensor<2x1024x4xf32>) -> (tensor<2x1024xf32>, tensor<2x4096xf32>) {
  %sum = nn.reduce sum %a dims = [2] : tensor<2x1024x4xf32> -> tensor<2x1024xf32>
  %four = nn.constant dense<4.0> : tensor<2x1024xf32> : tensor<2x1024xf32>
  %mean = nn.div %sum, %four : tensor<2x1024xf32>
  %means = nn.broadcast %mean dims = [0, 1] : tensor<2x1024xf32> -> tensor<2x1024x4xf32>
  %d = nn.sub %a, %means : tensor<2x1024x4xf32>
  %flat = nn.reshape %d : tensor<2x1024x4xf32> -> tensor<2x4096xf32>
  return %mean, %flat : tensor<2x1024xf32>, tensor<2x4096xf32>
}
