// RUN: weft-opt %s --pass-pipeline="builtin.module(func.func(kernels-expand-math))" | FileCheck %s

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

// From f64 by f32 rounded to odd, so that no tie is made of what is none.
// CHECK-LABEL: func.func @round_double(
// CHECK: arith.truncf {{.*}} : f64 to f32
// CHECK: arith.ori
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast {{.*}} : i16 to bf16
func.func @round_double(%x: f64) -> bf16 {
  %r = arith.truncf %x : f64 to bf16
  return %r : bf16
}

// Nothing computes in bf16: a processor without it would call a function of
// libgcc that not every libgcc has.
// CHECK-LABEL: func.func @arithmetic(
// CHECK: arith.addf {{.*}} : f32
// CHECK: math.sqrt {{.*}} : f32
// CHECK: arith.cmpf olt, {{.*}} : f32
// CHECK: arith.maximumf {{.*}} : f32
// CHECK-NOT: {{(arith|math)\.[a-z]+f? .*}} : bf16
func.func @arithmetic(%x: bf16, %y: bf16) -> (bf16, i1, bf16) {
  %a = arith.addf %x, %y : bf16
  %s = math.sqrt %a : bf16
  %c = arith.cmpf olt, %x, %s : bf16
  %m = arith.maximumf %x, %y : bf16
  return %s, %c, %m : bf16, i1, bf16
}

// Integers that f32 does not hold go by f64, and those that f64 does not hold are rounded to odd.
// CHECK-LABEL: func.func @integers(
// CHECK: arith.shrsi
// CHECK: arith.ori
// CHECK: arith.sitofp {{.*}} : i64 to f64
// CHECK: arith.fptosi {{.*}} : f32 to i32
// CHECK-NOT: arith.sitofp {{.*}} to bf16
func.func @integers(%x: i64, %y: bf16) -> (bf16, i32) {
  %a = arith.sitofp %x : i64 to bf16
  %b = arith.fptosi %y : bf16 to i32
  return %a, %b : bf16, i32
}
