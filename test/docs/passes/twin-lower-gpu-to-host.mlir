// RUN: %doctest %s
// A barrier is a call; the emulator knows the kernel by a record, `k.kernel`, and starts a fiber for each thread.
//--- before
module {
  gpu.module @k {
    gpu.func @k(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 2 : i64} {
      gpu.barrier
      gpu.return
    }
  }
}
//--- after
module {
  llvm.func @weft_emulator_launch(!llvm.ptr, i64, i64, !llvm.ptr)
  llvm.func @weft_emulator_barrier(!llvm.ptr, i32)
  llvm.mlir.global internal constant @k.buffers(dense<[256, 4, 4]> : tensor<3xi64>) {addr_space = 0 : i32} : !llvm.array<3 x i64>
  llvm.mlir.global internal constant @k.name("k\00") {addr_space = 0 : i32}
  llvm.mlir.global internal constant @k.kernel() {addr_space = 0 : i32} : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> {
    %0 = llvm.mlir.addressof @k.name : !llvm.ptr
    %1 = llvm.mlir.addressof @k.thread : !llvm.ptr
    %2 = llvm.mlir.constant(2 : i64) : i64
    %3 = llvm.mlir.constant(32 : i64) : i64
    %4 = llvm.mlir.constant(1 : i64) : i64
    %5 = llvm.mlir.constant(0 : i64) : i64
    %6 = llvm.mlir.addressof @k.buffers : !llvm.ptr
    %7 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)>
    %8 = llvm.insertvalue %0, %7[0] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %9 = llvm.insertvalue %1, %8[1] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %10 = llvm.insertvalue %2, %9[2] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %11 = llvm.insertvalue %3, %10[3] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %12 = llvm.insertvalue %4, %11[4] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %13 = llvm.insertvalue %5, %12[5] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %14 = llvm.insertvalue %6, %13[6] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    llvm.return %14 : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)>
  }
  func.func @k(%arg0: i64, %arg1: i64, %arg2: !llvm.ptr, %arg3: !llvm.ptr) {
    %0 = llvm.mlir.addressof @k.kernel : !llvm.ptr
    llvm.call @weft_emulator_launch(%0, %arg0, %arg1, %arg2) : (!llvm.ptr, i64, i64, !llvm.ptr) -> ()
    return
  }
  llvm.func internal @k.thread(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr) {
    %0 = llvm.getelementptr %arg1[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %c0_i32 = arith.constant 0 : i32
    llvm.call @weft_emulator_barrier(%arg0, %c0_i32) : (!llvm.ptr, i32) -> ()
    llvm.return
  }
}

