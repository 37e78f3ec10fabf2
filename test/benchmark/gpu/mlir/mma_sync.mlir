// RUN: %S/../lower.sh sm_80 %s | FileCheck %s
//
// Part g: D[4096,4096] (f32) = A[4096,4096] B[4096,4096]^T (bf16) with mma.sync, for every device from sm_80 on. Each warp
// makes a 16 x 8 tile of D, its fragments read from device memory: written to be checked, not to be fast.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CHECK: .target sm_80
// CHECK: .visible .entry mma_sync(
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

!matrix = memref<4096x4096xbf16>

gpu.module @kernels {
  // Grid (N / 32, M / 16), 128 threads: the four warps of a block lie side by side.
  gpu.func @mma_sync(%a: !matrix, %b: !matrix, %d: memref<4096x4096xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %size = arith.constant 4096 : index

    %thread = gpu.thread_id x
    %warp = arith.divui %thread, %c32 : index
    %lane = arith.remui %thread, %c32 : index
    %group = arith.divui %lane, %c4 : index
    %inGroup = arith.remui %lane, %c4 : index
    %pair = arith.muli %inGroup, %c2 : index

    %blockColumn = gpu.block_id x
    %blockRow = gpu.block_id y
    %rowStart = arith.muli %blockRow, %c16 : index
    %blockStart = arith.muli %blockColumn, %c32 : index
    %warpStart = arith.muli %warp, %c8 : index
    %columnStart = arith.addi %blockStart, %warpStart : index
    // This lane's rows of A and D, its row of B, its two columns of D.
    %row0 = arith.addi %rowStart, %group : index
    %row1 = arith.addi %row0, %c8 : index
    %rowB = arith.addi %columnStart, %group : index
    %column = arith.addi %columnStart, %pair : index

    %zero = arith.constant 0.0 : f32
    %sum:4 = scf.for %k = %c0 to %size step %c16 iter_args(%d0 = %zero, %d1 = %zero, %d2 = %zero, %d3 = %zero)
        -> (f32, f32, f32, f32) {
      %low = arith.addi %k, %pair : index
      %high = arith.addi %low, %c8 : index
      %va0 = vector.load %a[%row0, %low] : !matrix, vector<2xbf16>
      %va1 = vector.load %a[%row1, %low] : !matrix, vector<2xbf16>
      %va2 = vector.load %a[%row0, %high] : !matrix, vector<2xbf16>
      %va3 = vector.load %a[%row1, %high] : !matrix, vector<2xbf16>
      %vb0 = vector.load %b[%rowB, %low] : !matrix, vector<2xbf16>
      %vb1 = vector.load %b[%rowB, %high] : !matrix, vector<2xbf16>
      %a0 = llvm.bitcast %va0 : vector<2xbf16> to i32
      %a1 = llvm.bitcast %va1 : vector<2xbf16> to i32
      %a2 = llvm.bitcast %va2 : vector<2xbf16> to i32
      %a3 = llvm.bitcast %va3 : vector<2xbf16> to i32
      %b0 = llvm.bitcast %vb0 : vector<2xbf16> to i32
      %b1 = llvm.bitcast %vb1 : vector<2xbf16> to i32
      %product = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%d0, %d1, %d2, %d3]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
         multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>,
         shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %n0 = llvm.extractvalue %product[0] : !llvm.struct<(f32, f32, f32, f32)>
      %n1 = llvm.extractvalue %product[1] : !llvm.struct<(f32, f32, f32, f32)>
      %n2 = llvm.extractvalue %product[2] : !llvm.struct<(f32, f32, f32, f32)>
      %n3 = llvm.extractvalue %product[3] : !llvm.struct<(f32, f32, f32, f32)>
      scf.yield %n0, %n1, %n2, %n3 : f32, f32, f32, f32
    }
    %c1 = arith.constant 1 : index
    %column1 = arith.addi %column, %c1 : index
    memref.store %sum#0, %d[%row0, %column] : memref<4096x4096xf32>
    memref.store %sum#1, %d[%row0, %column1] : memref<4096x4096xf32>
    memref.store %sum#2, %d[%row1, %column] : memref<4096x4096xf32>
    memref.store %sum#3, %d[%row1, %column1] : memref<4096x4096xf32>
    gpu.return
  }
}
