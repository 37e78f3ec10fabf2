// RUN: weft-opt %s --cuda-expand-functions | FileCheck %s
// RUN: weft-opt %s --kernels-expand-math="keep-bfloat16-casts keep-exponentials" --cuda-expand-functions | FileCheck %s --check-prefix=SINGLE

// What is left of math are instructions of the GPU, and a sum of series is no library's.
// CHECK-LABEL: func.func @double(
// CHECK-NOT: math.{{exp|log|powf|tanh|sin|erf}}
// CHECK: math.fma {{.*}} : f64
// CHECK-NOT: math.{{exp|log|powf|tanh|sin|erf}}
// CHECK: return
func.func @double(%x: f64, %y: f64) -> (f64, f64, f64, f64) {
  %0 = math.exp %x : f64
  %1 = math.powf %x, %y : f64
  %2 = math.sin %x : f64
  %3 = math.erf %y : f64
  return %0, %1, %2, %3 : f64, f64, f64, f64
}

// f32 goes by f64 and is rounded once; the functions that matter for speed stay in f32, on the GPU's 2^x and 1/x.
// SINGLE-LABEL: func.func @single(
// SINGLE-NOT: f64
// SINGLE: math.exp2 {{.*}} fastmath<afn> : f32
// SINGLE-NOT: f64
// SINGLE: arith.divf {{.*}} fastmath<afn> : f32
// SINGLE-NOT: math.{{exp|tanh}}
// SINGLE: arith.extf {{.*}} : f32 to f64
// SINGLE: math.fma {{.*}} : f64
// SINGLE: arith.truncf {{.*}} : f64 to f32
func.func @single(%x: f32) -> (f32, f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.tanh %x : f32
  %2 = math.atan %x : f32
  return %0, %1, %2 : f32, f32, f32
}

// A remainder is exact: long division, not a quotient that is rounded.
// CHECK-LABEL: func.func @remainder(
// CHECK-NOT: arith.remf
// CHECK: scf.while
func.func @remainder(%x: f32, %y: f32) -> f32 {
  %0 = arith.remf %x, %y : f32
  return %0 : f32
}

// What GELU and its gradient make of a tangent is a quotient that loses no bits, and cheaper than the tangent.
// CHECK-LABEL: func.func @one_and_tangent(
// CHECK: %[[POWER:.+]] = math.exp2 {{.*}} fastmath<afn>
// CHECK: %[[SUM:.+]] = arith.addf %[[POWER]],
// CHECK: %[[INVERSE:.+]] = arith.divf {{.*}}, %[[SUM]] fastmath<afn>
// CHECK: arith.addf %[[INVERSE]], %[[INVERSE]]
// CHECK-NOT: arith.select
// CHECK: return
func.func @one_and_tangent(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %0 = math.tanh %x : f32
  %1 = arith.addf %0, %one : f32
  %2 = arith.mulf %0, %0 : f32
  %3 = arith.subf %one, %2 : f32
  return %1, %3 : f32, f32
}
