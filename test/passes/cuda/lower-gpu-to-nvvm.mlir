// RUN: weft-opt %s --cuda-lower-kernel-to-nvvm | FileCheck %s
// RUN: weft-opt %s --pass-pipeline="builtin.module(gpu.module(cuda-lower-gpu-to-nvvm))" | FileCheck %s --check-prefix=SHARE

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

// A kernel of 3 members with 2 arguments and a result has 9 addresses in one parameter: arguments at 0 + 2m and 1 + 2m, results at 6 + m,
// for the member m = block / 2.
gpu.module @members {
  // SHARE-LABEL: llvm.func @members(
  // SHARE-SAME: %[[TABLE:.+]]: !llvm.ptr {llvm.byval = !llvm.array<9 x ptr>})
  // SHARE-SAME: gpu.kernel
  // SHARE-SAME: nvvm.kernel
  // SHARE-SAME: nvvm.maxntid
  // SHARE: %[[BLOCKS:.+]] = llvm.mlir.constant(2 : i64)
  // SHARE: %[[BLOCK:.+]] = llvm.zext %{{.+}} : i32 to i64
  // SHARE: %[[MEMBER:.+]] = llvm.udiv %[[BLOCK]], %[[BLOCKS]]
  // SHARE: %[[FIRST:.+]] = llvm.mlir.constant(6 : i64)
  // SHARE: %[[STEP:.+]] = llvm.mlir.constant(1 : i64)
  // SHARE: %[[OWN:.+]] = llvm.mul %[[MEMBER]], %[[STEP]]
  // SHARE: %[[PLACE:.+]] = llvm.add %[[FIRST]], %[[OWN]]
  // SHARE: %[[AT:.+]] = llvm.getelementptr %[[TABLE]][%[[PLACE]]]
  // SHARE: %[[RESULT:.+]] = llvm.load %[[AT]] : !llvm.ptr -> !llvm.ptr
  // SHARE-NEXT: llvm.call @members.member(%{{.+}}, %{{.+}}, %[[RESULT]])
  // SHARE: llvm.func internal @members.member(%{{.+}}: !llvm.ptr {llvm.noalias}, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr) attributes {always_inline}
  gpu.func @members(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32>, %z: memref<8xf32>) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, weft.grid = 6 : i64, weft.members = array<i64: 3, 2>} {
    gpu.return
  }
}

// As many blocks share a multiprocessor's registers as it has of a small grid; of a greater one the assembler chooses,
// unless the kernel says how many it needs.
gpu.module @shares {
  // SHARE-LABEL: llvm.func @one_each(
  // SHARE-SAME: nvvm.maxntid = array<i32: 256, 1, 1>, nvvm.minctasm = 1 : i32
  gpu.func @one_each() kernel attributes {known_block_size = array<i32: 256, 1, 1>, weft.grid = 128 : i64} {
    gpu.return
  }
  // SHARE-LABEL: llvm.func @two_each(
  // SHARE-NOT: nvvm.minctasm
  gpu.func @two_each() kernel attributes {known_block_size = array<i32: 256, 1, 1>, weft.grid = 129 : i64} {
    gpu.return
  }
  // SHARE-LABEL: llvm.func @of_a_warp(
  // SHARE-SAME: nvvm.minctasm = 8 : i32
  gpu.func @of_a_warp() kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1024 : i64} {
    gpu.return
  }
  // SHARE-LABEL: llvm.func @reads_ahead(
  // SHARE-SAME: nvvm.minctasm = 2 : i32
  // SHARE-NOT: weft.
  gpu.func @reads_ahead() kernel attributes {known_block_size = array<i32: 256, 1, 1>, weft.grid = 1024 : i64, weft.resident = 2 : i32} {
    gpu.return
  }
}
