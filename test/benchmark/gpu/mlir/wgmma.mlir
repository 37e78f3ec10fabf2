// RUN: %S/../lower.sh sm_90a %s | FileCheck %s
//
// Part g: D[4096,4096] (f32) = A[4096,4096] B[4096,4096] (bf16), tiles brought by the bulk copy engine (TMA), multiplied
// by one warpgroup with wgmma. One block per 128 x 128 tile of D, 64 of the inner dimension at a time, one buffer:
// written to be checked, not to be fast.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CHECK: .target sm_90a
// CHECK: .visible .entry wgmma(
// CHECK: fence.proxy.tensormap::generic.acquire
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned {{.*}}0;
// CHECK-COUNT-3: cp.async.bulk.tensor.2d

!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!mapA = !nvgpu.tensormap.descriptor<tensor = memref<128x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!mapB = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!tileA = memref<128x64xbf16, #gpu.address_space<workgroup>>
!halfB = memref<64x64xbf16, #gpu.address_space<workgroup>>
!tileB = memref<64x128xbf16, #gpu.address_space<workgroup>>
!bytes = memref<?xi8, #gpu.address_space<workgroup>>
!accumulator = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

gpu.module @kernels {
  // Grid (N / 128, M / 128), 128 threads, 34816 bytes of dynamic shared memory: two tiles of 16 KiB and room to align
  // them to the 1024 bytes after which the swizzle repeats. The maps lie in device memory.
  gpu.func @wgmma(%pointerA: !llvm.ptr, %pointerB: !llvm.ptr, %d: memref<4096x4096xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c1024 = arith.constant 1024 : index
    %c8192 = arith.constant 8192 : index
    %c16384 = arith.constant 16384 : index
    %c32768 = arith.constant 32768 : index
    %steps = arith.constant 64 : index
    %ticks = arith.constant 10000000 : index

    %mapA = builtin.unrealized_conversion_cast %pointerA : !llvm.ptr to !mapA
    %mapB = builtin.unrealized_conversion_cast %pointerB : !llvm.ptr to !mapB
    %thread = gpu.thread_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    %blockColumn = gpu.block_id x
    %blockRow = gpu.block_id y
    %row = arith.muli %blockRow, %c128 : index
    %column = arith.muli %blockColumn, %c128 : index
    %secondColumn = arith.addi %column, %c64 : index

    %shared = gpu.dynamic_shared_memory : !bytes
    %address = memref.extract_aligned_pointer_as_index %shared : !bytes -> index
    %over = arith.remui %address, %c1024 : index
    // The module's own shared variables, of which the barrier is one, may lie anywhere in the 16 bytes around the start
    // of dynamic memory: at least 1008 bytes are left free, whichever side they are on.
    %startA = arith.subi %c1024, %over : index
    %startB = arith.addi %startA, %c16384 : index
    %startB2 = arith.addi %startB, %c8192 : index
    %tileA = memref.view %shared[%startA][] : !bytes to !tileA
    %tileB = memref.view %shared[%startB][] : !bytes to !tileB
    %leftB = memref.view %shared[%startB][] : !bytes to !halfB
    %rightB = memref.view %shared[%startB2][] : !bytes to !halfB

    %barriers = nvgpu.mbarrier.create -> !barriers
    nvgpu.mbarrier.init %barriers[%c0], %c1, predicate = %first : !barriers
    nvvm.fence.mbarrier.init
    // The maps were written by a copy from the host, which the copy engine's own view does not follow.
    nvgpu.tma.fence.descriptor %mapA : !mapA
    nvgpu.tma.fence.descriptor %mapB : !mapB
    gpu.barrier

    %zero = nvgpu.warpgroup.mma.init.accumulator -> !accumulator
    %sum = scf.for %step = %c0 to %steps step %c1 iter_args(%held = %zero) -> (!accumulator) {
      scf.if %first {
        %inner = arith.muli %step, %c64 : index
        nvgpu.mbarrier.arrive.expect_tx %barriers[%c0], %c32768 : !barriers
        nvgpu.tma.async.load %mapA[%inner, %row], %barriers[%c0] to %tileA : !mapA, !barriers -> !tileA
        nvgpu.tma.async.load %mapB[%column, %inner], %barriers[%c0] to %leftB : !mapB, !barriers -> !halfB
        nvgpu.tma.async.load %mapB[%secondColumn, %inner], %barriers[%c0] to %rightB : !mapB, !barriers -> !halfB
      }
      %odd = arith.remui %step, %c2 : index
      %phase = arith.cmpi eq, %odd, %c1 : index
      nvgpu.mbarrier.try_wait.parity %barriers[%c0], %phase, %ticks : !barriers
      %descriptorA = nvgpu.warpgroup.generate.descriptor %tileA, %mapA : !tileA, !mapA -> !nvgpu.warpgroup.descriptor<tensor = !tileA>
      %descriptorB = nvgpu.warpgroup.generate.descriptor %tileB, %mapB : !tileB, !mapB -> !nvgpu.warpgroup.descriptor<tensor = !tileB>
      %next = nvgpu.warpgroup.mma %descriptorA, %descriptorB, %held {transposeB, waitGroup = 0 : i64}
        : <tensor = !tileA>, <tensor = !tileB>, <fragmented = vector<128x128xf32>> -> <fragmented = vector<128x128xf32>>
      // Every warp has read its tiles before the next copy overwrites them.
      gpu.barrier
      scf.yield %next : !accumulator
    }

    %tile = memref.subview %d[%row, %column] [128, 128] [1, 1]
      : memref<4096x4096xf32> to memref<128x128xf32, strided<[4096, 1], offset: ?>>
    nvgpu.warpgroup.mma.store %sum, %tile : !accumulator to memref<128x128xf32, strided<[4096, 1], offset: ?>>
    gpu.return
  }
}
