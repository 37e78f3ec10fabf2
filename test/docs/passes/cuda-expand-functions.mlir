// RUN: %doctest %s
// A remainder is a loop of exact subtractions.
//--- before
module {
  func.func @k(%x: f64, %y: f64) -> f64 {
    %0 = arith.remf %x, %y : f64
    return %0 : f64
  }
}
//--- after
module {
  func.func @k(%arg0: f64, %arg1: f64) -> f64 {
    %0 = math.absf %arg0 : f64
    %1 = math.absf %arg1 : f64
    %cst = arith.constant 0.000000e+00 : f64
    %cst_0 = arith.constant 0x7FF0000000000000 : f64
    %2 = arith.cmpf olt, %0, %cst_0 : f64
    %cst_1 = arith.constant 0.000000e+00 : f64
    %3 = arith.cmpf ogt, %1, %cst_1 : f64
    %4 = arith.andi %2, %3 : i1
    %5 = arith.select %4, %0, %cst : f64
    %cst_2 = arith.constant 1.000000e+00 : f64
    %6 = arith.select %4, %1, %cst_2 : f64
    %7 = scf.while (%arg2 = %5) : (f64) -> f64 {
      %12 = arith.cmpf oge, %arg2, %6 : f64
      scf.condition(%12) %arg2 : f64
    } do {
    ^bb0(%arg2: f64):
      %cst_4 = arith.constant 4.149515568880993E+180 : f64
      %12 = arith.mulf %6, %cst_4 : f64
      %13 = arith.cmpf ogt, %arg2, %12 : f64
      %14 = arith.select %13, %12, %6 : f64
      %cst_5 = arith.constant 4.149515568880993E+180 : f64
      %15 = arith.mulf %14, %cst_5 : f64
      %16 = arith.cmpf ogt, %arg2, %15 : f64
      %17 = arith.select %16, %15, %14 : f64
      %18 = arith.divf %arg2, %17 : f64
      %19 = arith.bitcast %18 : f64 to i64
      %c1_i64 = arith.constant 1 : i64
      %20 = arith.subi %19, %c1_i64 : i64
      %c-134217728_i64 = arith.constant -134217728 : i64
      %21 = arith.andi %20, %c-134217728_i64 : i64
      %22 = arith.bitcast %21 : i64 to f64
      %23 = math.floor %22 : f64
      %cst_6 = arith.constant 1.000000e+00 : f64
      %24 = arith.cmpf olt, %23, %cst_6 : f64
      %cst_7 = arith.constant 1.000000e+00 : f64
      %25 = arith.select %24, %cst_7, %23 : f64
      %cst_8 = arith.constant -0.000000e+00 : f64
      %26 = arith.subf %cst_8, %25 : f64
      %27 = math.fma %26, %17, %arg2 : f64
      scf.yield %27 : f64
    }
    %8 = math.copysign %7, %arg0 : f64
    %9 = arith.cmpf ord, %arg0, %arg1 : f64
    %10 = arith.andi %4, %9 : i1
    %cst_3 = arith.constant 0x7FF8000000000000 : f64
    %11 = arith.select %10, %8, %cst_3 : f64
    return %11 : f64
  }
}

