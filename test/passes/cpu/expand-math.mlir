// RUN: weft-opt %s --pass-pipeline="builtin.module(func.func(cpu-expand-math))" | FileCheck %s

// f32 functions become polynomials that a vectorizer understands.
// CHECK-LABEL: func.func @single(
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK: math.fma
func.func @single(%x: f32) -> (f32, f32) {
  %e = math.exp %x : f32
  %t = math.tanh %x : f32
  return %e, %t : f32, f32
}

// f64 stays for libm.
// CHECK-LABEL: func.func @double(
// CHECK: math.exp {{.*}} : f64
func.func @double(%x: f64) -> f64 {
  %e = math.exp %x : f64
  return %e : f64
}

// Rounding to bf16 is integer arithmetic.
// CHECK-LABEL: func.func @round(
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast {{.*}} : f32 to i32
// CHECK: arith.bitcast {{.*}} : i16 to bf16
func.func @round(%x: f32) -> bf16 {
  %r = arith.truncf %x : f32 to bf16
  return %r : bf16
}
