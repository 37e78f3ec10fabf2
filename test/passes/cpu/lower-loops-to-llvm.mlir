// RUN: weft-opt %s --cpu-lower-loops-to-llvm | FileCheck %s

// Only the LLVM dialect is left; functions without an intrinsic are libm's.
// CHECK: llvm.func @erf(f64) -> f64
// CHECK-LABEL: llvm.func internal @nest.body(
// CHECK: llvm.call @erf
// CHECK: llvm.intr.sqrt
// CHECK: llvm.br {{.*}} {loop_annotation = #{{.+}}}
// CHECK-NOT: scf.
// CHECK-NOT: arith.
func.func private @nest.body(%begin: index, %end: index, %x: !llvm.ptr) {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    %v = llvm.load %x : !llvm.ptr -> f64
    %e = math.erf %v : f64
    %s = math.sqrt %e : f64
    llvm.store %s, %x : f64, !llvm.ptr
  } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
  return
}
