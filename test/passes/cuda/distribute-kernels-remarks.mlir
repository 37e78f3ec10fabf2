// RUN: weft-opt %s --cuda-lower-kernel-to-gpu --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s

// CHECK: remark: [Missed] sequential | Category:cuda-distribute-kernels {{.*}}is done row by row, each by one thread
func.func @scan(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.scan sum %x dim = 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-NOT: remark
func.func @scatter(%x: tensor<4x8xf32>, %i: tensor<9x1xi64>, %u: tensor<9x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<4x8xf32>, tensor<9x1xi64>, tensor<9x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
