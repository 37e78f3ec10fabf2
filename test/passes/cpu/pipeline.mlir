// RUN: weft-opt %s --weft-cpu-kernel-pipeline | FileCheck %s

// From nn to the LLVM dialect in one go.
// CHECK-LABEL: llvm.func internal @norm.body(
// CHECK-NOT: nn.
// CHECK-NOT: linalg.
// CHECK: llvm.intr.sqrt
// CHECK: llvm.func @norm(%{{.+}}: i64, %{{.+}}: i64, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr)
// CHECK-SAME: rt.parallel_extent = 16
func.func @norm(%x: tensor<16x64xf32>, %s: tensor<64xf32>) -> tensor<16x64xf32> {
  %r = nn.rms_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<16x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
