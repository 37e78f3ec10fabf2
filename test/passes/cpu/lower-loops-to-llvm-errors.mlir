// RUN: weft-opt %s --cpu-lower-loops-to-llvm --split-input-file --verify-diagnostics
// Of bf16 only bits are left here: what computes in it is a pass that was left out.

func.func private @adds(%x: !llvm.ptr, %a: bf16, %b: bf16) {
  // expected-error @below {{computes in bf16, which kernels-expand-math expands}}
  %0 = arith.addf %a, %b : bf16
  llvm.store %0, %x : bf16, !llvm.ptr
  return
}
