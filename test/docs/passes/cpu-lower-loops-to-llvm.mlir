// RUN: %doctest %s
// Loops become branches, and a function that is neither an intrinsic nor a polynomial a call of libm.
//--- before
module {
  func.func @k(%x: f64) -> f64 {
    %0 = math.erf %x : f64
    return %0 : f64
  }
}
//--- after
module {
  llvm.func @erf(f64) -> f64 attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, errnoMem = none, targetMem0 = none, targetMem1 = none>, sym_visibility = "private"}
  llvm.func @k(%arg0: f64) -> f64 {
    %0 = llvm.call @erf(%arg0) : (f64) -> f64
    llvm.return %0 : f64
  }
}
