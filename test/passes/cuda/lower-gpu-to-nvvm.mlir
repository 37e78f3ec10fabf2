// RUN: weft-opt %s --cuda-lower-kernel-to-nvvm | FileCheck %s

// A function that the driver can launch: bare pointers, aligned; the block's size; no function that it does not have.
// CHECK-LABEL: gpu.module @norm
// CHECK-NOT: llvm.func {{.*}}@__nv
// CHECK: llvm.func @norm(%{{.+}}: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %{{.+}}: !llvm.ptr
// CHECK-SAME: gpu.kernel
// CHECK-SAME: nvvm.kernel
// CHECK: nvvm.shfl.sync
// CHECK: llvm.intr.sqrt
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>
// CHECK-NOT: {{gpu.func|memref|scf\.|arith\.|math\.}}
func.func @norm(%x: tensor<16x512xf32>, %s: tensor<512xf32>) -> tensor<16x512xf32> {
  %r = nn.rms_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<16x512xf32>, tensor<512xf32>) -> tensor<16x512xf32>
  return %r : tensor<16x512xf32>
}
