// What goes through the passes that form kernels is accepted; then one thing is changed in what they leave, as a mistake of theirs would.
// RUN: weft-opt %s --rt-record-results -o %t.recorded
// RUN: weft-opt %t.recorded --rt-fuse-kernels --rt-outline-kernels --rt-hoist-constants --rt-form-buckets --rt-order-commands \
// RUN:   --rt-materialize-updates --rt-elide-update-copies --rt-reuse-operands -o %t.formed
// RUN: weft-opt %t.formed --rt-verify-results | FileCheck %s
//
// CHECK-NOT: rt.computes
// CHECK: rt.bucket
// CHECK: rt.call @r({{.*}}, {{.*}}, {{.*}})
// CHECK: dist.send
// CHECK-NOT: rt.computes
//
// Operands in another order, in a kernel.
// RUN: sed 's/nn.sub %\([a-z0-9]*\), %\([a-z0-9]*\)/nn.sub %\2, %\1/' %t.formed > %t.bad
// RUN: not weft-opt %t.bad --rt-verify-results 2>&1 | FileCheck %s --check-prefix=OPERANDS
// OPERANDS: error: result 0 of @forward is not computed as it was before kernels were formed
// OPERANDS: note: this makes it now
// OPERANDS: error: result 1 of @forward is not
//
// Another op, where a routine is judged by itself: its callers are as they were.
// RUN: sed 's/nn.mul/nn.max/' %t.formed > %t.bad && not weft-opt %t.bad --rt-verify-results 2>&1 | FileCheck %s --check-prefix=OP
// OP: error: result 0 of @r is not
// OP-NOT: error: result {{.*}} of @forward
//
// Another number in a constant, and in an attribute.
// RUN: sed 's/2.000000e+00, 3.000000e+00/3.000000e+00, 2.000000e+00/' %t.formed > %t.bad
// RUN: not weft-opt %t.bad --rt-verify-results 2>&1 | FileCheck %s --check-prefix=OP
// RUN: sed 's/accumulate = f32/accumulate = f64/' %t.formed > %t.bad && not weft-opt %t.bad --rt-verify-results 2>&1 | FileCheck %s --check-prefix=ACC
// ACC: error: result 3 of @forward is not
//
// A collective over other devices' values.
// RUN: sed 's/accumulate f32 : /accumulate f64 : /' %t.formed > %t.bad && not weft-opt %t.bad --rt-verify-results 2>&1 | FileCheck %s --check-prefix=SUM
// SUM: error: result {{[45]}} of @forward is not
//
// Another value is sent; nothing is sent.
// RUN: sed 's/dist.send %[0-9a-z#]*/dist.send %arg0/' %t.formed > %t.bad && not weft-opt %t.bad --rt-verify-results 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: error: what @forward sends or receives as number 1 is not what it was before kernels were formed
// RUN: grep -v dist.send %t.formed > %t.bad && not weft-opt %t.bad --rt-verify-results 2>&1 | FileCheck %s --check-prefix=LOST
// LOST: error: @forward returned and sent 8 values before kernels were formed, now 7
//
// What was not written down cannot be compared.
// RUN: not weft-opt %s --rt-verify-results 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: @forward does not say what it computes (rt.computes); run rt-record-results before

#mesh = #dist.mesh<[stages "pp"=2, "dp"=2]>
!t = tensor<64xf32, #dist.local<#mesh, [64]>>
!due = tensor<64xf32, #dist.local<#mesh, [64], partial = sum["dp"]>>
!m = tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
!rows = tensor<16x4xf32, #dist.local<#mesh, [16, 4]>>
!row = tensor<4xf32, #dist.local<#mesh, [4]>>
module attributes {dist.mesh = #mesh, weft.stage = 0 : i64} {
func.func @forward(%x: !t {nn.name = "x"}, %y: !t {nn.name = "y"}, %m: !m {nn.name = "m"}, %p: !due {nn.name = "p"}, %q: !due {nn.name = "q"})
    -> (!t {nn.name = "a"}, !t {nn.name = "b"}, !t {nn.name = "c"}, !m {nn.name = "d"}, !t {nn.name = "e"}, !t {nn.name = "f"}) {
  %0 = nn.exp %x : (!t) -> !t
  %1 = nn.sub %0, %y : (!t, !t) -> !t
  %2 = rt.call @r(%1, %y) : (!t, !t) -> !t
  %3 = dist.receive from 1 on "in" : !t
  dist.send %2 to 1 on "out" : !t
  %4 = nn.add %3, %x : (!t, !t) -> !t
  %5 = nn.contract %m, %m lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!m, !m) -> !m
  %6 = dist.all_reduce %p ["dp"] accumulate f32 : !due -> !t
  %7 = dist.all_reduce %q ["dp"] accumulate f32 : !due -> !t
  return %1, %2, %4, %5, %6, %7 : !t, !t, !t, !m, !t, !t
}
func.func private @r(%x: !t, %y: !t) -> !t attributes {rt.routine} {
  %table = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : !row
  %0 = nn.reshape %x : !t -> !rows
  %1 = nn.broadcast %table dims = [1] : !row -> !rows
  %2 = nn.add %0, %1 : (!rows, !rows) -> !rows
  %3 = nn.reshape %2 : !rows -> !t
  %4 = nn.mul %3, %y : (!t, !t) -> !t
  return %4 : !t
}
}
