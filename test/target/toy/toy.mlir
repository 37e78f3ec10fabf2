// The same program for two targets: one's library takes the product, the other has none.
// RUN: weft-toy opt %s --pass-pipeline="builtin.module(rt-set-target{target=toy},rt-fuse-kernels)" | FileCheck %s --check-prefix=TOY
// RUN: weft-toy opt %s --pass-pipeline="builtin.module(rt-set-target,rt-fuse-kernels)" | FileCheck %s --check-prefix=CPU
// RUN: weft-toy opt %s --weft-local-pipeline="target=toy" | FileCheck %s --check-prefix=TOY

// TOY: module attributes {{.*}}weft.target = "toy"
// TOY: func.func @forward
// TOY-NOT: library
// CPU-NOT: weft.target
// CPU: rt.fusion library
func.func @forward(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = nn.contract %x, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = nn.gelu %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
