// RUN: weft-opt %s --rt-fuse-kernels --rt-outline-kernels --rt-lower-to-commands | FileCheck %s

// Padding that a whole microbatch consists of is a constant. Each device has all of it: no axis of the
// processes, and none of time, splits what it is stored in.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
// CHECK: rt.state @constant.0 class workspace global tensor<2x8xf32> local memref<2x8xf32> placement <[2], [8]>
// CHECK: rt.gemm
func.func @forward(%w: tensor<8x4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 64, length = 128>})
    -> (tensor<2x4xf32> {nn.name = "y"}) {
  %c = nn.constant dense<0.5> : tensor<2x8xf32, #dist.local<#mesh, [8{"dp","mb"}, 8]>>
    : tensor<2x8xf32, #dist.local<#mesh, [8{"dp","mb"}, 8]>>
  %0 = nn.contract %c, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<2x8xf32, #dist.local<#mesh, [8{"dp","mb"}, 8]>>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
}
