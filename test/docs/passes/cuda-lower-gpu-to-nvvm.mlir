// RUN: %doctest %s
// Buffers become bare pointers, and the kernel says what the driver has to know.
//--- before
module {
  gpu.module @k {
    gpu.func @k(%x: memref<32xf32> {llvm.align = 16 : i64, llvm.noalias}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %i = gpu.thread_id x
      %0 = memref.load %x[%i] : memref<32xf32>
      %1 = math.sqrt %0 : f32
      memref.store %1, %x[%i] : memref<32xf32>
      gpu.return
    }
  }
}
//--- after
module {
  gpu.module @k {
    llvm.func @k(%arg0: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}) attributes {gpu.kernel, gpu.known_block_size = array<i32: 32, 1, 1>, nvvm.kernel, nvvm.maxntid = array<i32: 32, 1, 1>} {
      %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %1 = llvm.insertvalue %arg0, %0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %2 = llvm.insertvalue %arg0, %1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %3 = llvm.mlir.constant(0 : index) : i64
      %4 = llvm.insertvalue %3, %2[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %5 = llvm.mlir.constant(32 : index) : i64
      %6 = llvm.insertvalue %5, %4[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %7 = llvm.mlir.constant(1 : index) : i64
      %8 = llvm.insertvalue %7, %6[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %9 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 32> : i32
      %10 = llvm.sext %9 : i32 to i64
      %11 = llvm.extractvalue %8[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %12 = llvm.getelementptr inbounds|nuw %11[%10] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %13 = llvm.load %12 : !llvm.ptr -> f32
      %14 = llvm.intr.sqrt(%13) : (f32) -> f32
      %15 = llvm.extractvalue %8[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
      %16 = llvm.getelementptr inbounds|nuw %15[%10] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %14, %16 : f32, !llvm.ptr
      llvm.return
    }
  }
}

