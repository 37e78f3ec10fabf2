// RUN: %doctest %s
// Nothing computes in bf16: a sum is that of f32, rounded once by integer arithmetic.
//--- before
module {
  func.func @k(%x: bf16, %y: bf16) -> bf16 {
    %0 = arith.addf %x, %y : bf16
    return %0 : bf16
  }
}
//--- after
module {
  func.func @k(%arg0: bf16, %arg1: bf16) -> bf16 {
    %0 = arith.bitcast %arg0 : bf16 to i16
    %1 = arith.extui %0 : i16 to i32
    %c16_i32 = arith.constant 16 : i32
    %2 = arith.shli %1, %c16_i32 : i32
    %3 = arith.bitcast %2 : i32 to f32
    %4 = arith.bitcast %arg1 : bf16 to i16
    %5 = arith.extui %4 : i16 to i32
    %c16_i32_0 = arith.constant 16 : i32
    %6 = arith.shli %5, %c16_i32_0 : i32
    %7 = arith.bitcast %6 : i32 to f32
    %8 = arith.addf %3, %7 : f32
    %9 = arith.cmpf une, %8, %8 : f32
    %c32767_i32 = arith.constant 32767 : i32
    %c32704_i16 = arith.constant 32704 : i16
    %c16_i32_1 = arith.constant 16 : i32
    %c1_i32 = arith.constant 1 : i32
    %10 = arith.bitcast %8 : f32 to i32
    %11 = arith.shrui %10, %c16_i32_1 : i32
    %12 = arith.andi %11, %c1_i32 : i32
    %13 = arith.addi %12, %c32767_i32 : i32
    %14 = arith.addi %10, %13 : i32
    %15 = arith.shrui %14, %c16_i32_1 : i32
    %16 = arith.trunci %15 : i32 to i16
    %17 = arith.select %9, %c32704_i16, %16 : i16
    %18 = arith.bitcast %17 : i16 to bf16
    return %18 : bf16
  }
}
