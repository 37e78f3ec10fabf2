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
    %0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)>
    %1 = llvm.mlir.addressof @k.name : !llvm.ptr
    %2 = llvm.insertvalue %1, %0[0] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %3 = llvm.mlir.addressof @k.thread : !llvm.ptr
    %4 = llvm.insertvalue %3, %2[1] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %5 = llvm.mlir.constant(2 : i64) : i64
    %6 = llvm.insertvalue %5, %4[2] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %7 = llvm.mlir.constant(32 : i64) : i64
    %8 = llvm.insertvalue %7, %6[3] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %9 = llvm.mlir.constant(1 : i64) : i64
    %10 = llvm.insertvalue %9, %8[4] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %11 = llvm.mlir.constant(0 : i64) : i64
    %12 = llvm.insertvalue %11, %10[5] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    %13 = llvm.mlir.addressof @k.buffers : !llvm.ptr
    %14 = llvm.insertvalue %13, %12[6] : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)> 
    llvm.return %14 : !llvm.struct<(ptr, ptr, i64, i64, i64, i64, ptr)>
  }
  llvm.func @k(%arg0: i64, %arg1: i64, %arg2: !llvm.ptr, %arg3: !llvm.ptr) {
    %0 = llvm.mlir.addressof @k.kernel : !llvm.ptr
    llvm.call @weft_emulator_launch(%0, %arg0, %arg1, %arg2) : (!llvm.ptr, i64, i64, !llvm.ptr) -> ()
    llvm.return
  }
  llvm.mlir.global internal constant @k.code() {addr_space = 0 : i32} : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> {
    %0 = llvm.mlir.undef : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)>
    %1 = llvm.mlir.constant(119 : i8) : i8
    %2 = llvm.insertvalue %1, %0[0] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %3 = llvm.mlir.constant(101 : i8) : i8
    %4 = llvm.insertvalue %3, %2[1] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %5 = llvm.mlir.constant(102 : i8) : i8
    %6 = llvm.insertvalue %5, %4[2] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %7 = llvm.mlir.constant(116 : i8) : i8
    %8 = llvm.insertvalue %7, %6[3] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %9 = llvm.mlir.constant(32 : i8) : i8
    %10 = llvm.insertvalue %9, %8[4] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %11 = llvm.mlir.constant(104 : i8) : i8
    %12 = llvm.insertvalue %11, %10[5] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %13 = llvm.mlir.constant(111 : i8) : i8
    %14 = llvm.insertvalue %13, %12[6] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %15 = llvm.mlir.constant(115 : i8) : i8
    %16 = llvm.insertvalue %15, %14[7] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %17 = llvm.mlir.constant(116 : i8) : i8
    %18 = llvm.insertvalue %17, %16[8] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %19 = llvm.mlir.constant(32 : i8) : i8
    %20 = llvm.insertvalue %19, %18[9] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %21 = llvm.mlir.constant(105 : i8) : i8
    %22 = llvm.insertvalue %21, %20[10] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %23 = llvm.mlir.constant(109 : i8) : i8
    %24 = llvm.insertvalue %23, %22[11] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %25 = llvm.mlir.constant(97 : i8) : i8
    %26 = llvm.insertvalue %25, %24[12] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %27 = llvm.mlir.constant(103 : i8) : i8
    %28 = llvm.insertvalue %27, %26[13] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %29 = llvm.mlir.constant(101 : i8) : i8
    %30 = llvm.insertvalue %29, %28[14] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %31 = llvm.mlir.constant(0 : i8) : i8
    %32 = llvm.insertvalue %31, %30[15] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %33 = llvm.mlir.addressof @k : !llvm.ptr
    %34 = llvm.insertvalue %33, %32[16] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %35 = llvm.mlir.addressof @k.name : !llvm.ptr
    %36 = llvm.insertvalue %35, %34[17] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %37 = llvm.mlir.constant(2 : i64) : i64
    %38 = llvm.insertvalue %37, %36[18] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %39 = llvm.mlir.constant(2 : i64) : i64
    %40 = llvm.insertvalue %39, %38[19] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %41 = llvm.mlir.constant(2 : i32) : i32
    %42 = llvm.insertvalue %41, %40[20] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %43 = llvm.mlir.constant(32 : i32) : i32
    %44 = llvm.insertvalue %43, %42[21] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %45 = llvm.mlir.constant(1 : i32) : i32
    %46 = llvm.insertvalue %45, %44[22] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %47 = llvm.mlir.constant(0 : i32) : i32
    %48 = llvm.insertvalue %47, %46[23] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %49 = llvm.mlir.constant(0 : i32) : i32
    %50 = llvm.insertvalue %49, %48[24] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    %51 = llvm.mlir.constant(0 : i32) : i32
    %52 = llvm.insertvalue %51, %50[25] : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)> 
    llvm.return %52 : !llvm.struct<(i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, i8, ptr, ptr, i64, i64, i32, i32, i32, i32, i32, i32)>
  }
  llvm.mlir.global internal constant @k.chip("host\00") {addr_space = 0 : i32}
  llvm.mlir.global external constant @k.image() {addr_space = 0 : i32} : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)> {
    %0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)>
    %1 = llvm.mlir.addressof @k.code : !llvm.ptr
    %2 = llvm.insertvalue %1, %0[0] : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)> 
    %3 = llvm.mlir.zero : !llvm.ptr
    %4 = llvm.insertvalue %3, %2[1] : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)> 
    %5 = llvm.mlir.addressof @k.chip : !llvm.ptr
    %6 = llvm.insertvalue %5, %4[2] : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)> 
    %7 = llvm.mlir.constant(32 : i32) : i32
    %8 = llvm.insertvalue %7, %6[3] : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)> 
    %9 = llvm.mlir.constant(4 : i32) : i32
    %10 = llvm.insertvalue %9, %8[4] : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)> 
    %11 = llvm.mlir.constant(0 : i32) : i32
    %12 = llvm.insertvalue %11, %10[5] : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)> 
    llvm.return %12 : !llvm.struct<(ptr, ptr, ptr, i32, i32, i32)>
  }
  llvm.func internal @k.thread(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr) {
    %0 = llvm.getelementptr %arg1[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %c0_i32 = arith.constant 0 : i32
    llvm.call @weft_emulator_barrier(%arg0, %c0_i32) : (!llvm.ptr, i32) -> ()
    llvm.return
  }
}

