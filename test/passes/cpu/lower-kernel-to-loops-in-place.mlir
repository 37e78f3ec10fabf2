// RUN: weft-opt %s --pass-pipeline="builtin.module(func.func(convert-nn-to-linalg,cse),cpu-lower-kernel-to-loops,func.func(cse))" --split-input-file --verify-diagnostics | FileCheck %s
// A kernel overwrites an argument: a unit reads of it what it writes itself, and before.

// Both are behind one pointer. The unit is a row, though a row of one result alone would be cut finer: a sum of it is read by
// all of the row. The sum is done before the first store.
// CHECK-LABEL: func.func private @rows.body(
// CHECK-SAME: %{{.+}}: !llvm.ptr {llvm.noalias}, %[[BOTH:.+]]: !llvm.ptr {llvm.noalias})
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.getelementptr inbounds %[[BOTH]]
// CHECK-NOT: llvm.store
// CHECK: arith.addf
// CHECK: scf.for
// CHECK: llvm.store
// CHECK: func.func @rows(
// CHECK-SAME: rt.parallel_extent = 64 : i64
func.func @rows(%a: tensor<64x8192xf32>) -> tensor<64x8192xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.mul %a, %a : tensor<64x8192xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<64x8192xf32> -> tensor<64xf32>
  %2 = nn.broadcast %1 dims = [0] : tensor<64xf32> -> tensor<64x8192xf32>
  %3 = nn.div %0, %2 : tensor<64x8192xf32>
  return %3 : tensor<64x8192xf32>
}

// -----

// Rows that are turned round would read what they overwrote.
// expected-error @below {{in every way to cut the kernel something reads an argument that was overwritten, or temporaries of the fused ops need more than}}
func.func @turned(%a: tensor<64x80xf32>) -> tensor<64x80xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.reverse %a dims = [1] : tensor<64x80xf32> -> tensor<64x80xf32>
  %1 = nn.add %a, %0 : (tensor<64x80xf32>, tensor<64x80xf32>) -> tensor<64x80xf32>
  return %1 : tensor<64x80xf32>
}

// -----

// An element that is looked up in the row is read before the row's first store.
// CHECK-LABEL: func.func private @looked_up.body(
// CHECK-SAME: %{{.+}}: !llvm.ptr {llvm.noalias}, %{{.+}}: !llvm.ptr {llvm.noalias}, %[[BOTH:.+]]: !llvm.ptr {llvm.noalias})
// CHECK: scf.if
// CHECK: llvm.getelementptr inbounds %[[BOTH]]
// CHECK-NOT: llvm.store
// CHECK: scf.for
// CHECK: llvm.store
// CHECK: func.func @looked_up(
// CHECK-SAME: rt.parallel_extent = 64 : i64
func.func @looked_up(%a: tensor<64x8192xf32>, %i: tensor<64x1xi64>) -> tensor<64x8192xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.gather %a, %i indexed = [1] operand_batch = [0] indices_batch = [0] : (tensor<64x8192xf32>, tensor<64x1xi64>) -> tensor<64xf32>
  %1 = nn.broadcast %0 dims = [0] : tensor<64xf32> -> tensor<64x8192xf32>
  %2 = nn.sub %a, %1 : tensor<64x8192xf32>
  return %2 : tensor<64x8192xf32>
}

// -----

// A result behind the one that overwrites would read it, too.
// expected-error @below {{in every way to cut the kernel something reads an argument that was overwritten}}
func.func @first(%a: tensor<64x80xf32>) -> (tensor<64x80xf32>, tensor<64xf32>) attributes {rt.in_place = array<i64: 0, -1>} {
  %0 = nn.exp %a : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %1 = nn.reduce sum %a dims = [1] : tensor<64x80xf32> -> tensor<64xf32>
  return %0, %1 : tensor<64x80xf32>, tensor<64xf32>
}

// -----

// Sums over columns need all rows, so all of them are one unit, which reads them all before it writes.
// CHECK: func.func @columns(
// CHECK-SAME: rt.parallel_extent = 1 : i64
func.func @columns(%a: tensor<64x80xf32>) -> tensor<64x80xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.reduce sum %a dims = [0] : tensor<64x80xf32> -> tensor<80xf32>
  %1 = nn.broadcast %0 dims = [1] : tensor<80xf32> -> tensor<64x80xf32>
  %2 = nn.sub %a, %1 : tensor<64x80xf32>
  return %2 : tensor<64x80xf32>
}

// -----

// Sums over rows of what was written read that, not the argument.
// CHECK: func.func @written(
// CHECK-SAME: rt.parallel_extent = 128 : i64
func.func @written(%a: tensor<8x1024x64xf32>) -> (tensor<8x1024x64xf32>, tensor<8x16x64xf32>) attributes {rt.in_place = array<i64: 0, -1>} {
  %0 = nn.exp %a : (tensor<8x1024x64xf32>) -> tensor<8x1024x64xf32>
  %1 = nn.reshape %0 : tensor<8x1024x64xf32> -> tensor<8x16x64x64xf32>
  %2 = nn.reduce sum %1 dims = [2] : tensor<8x16x64x64xf32> -> tensor<8x16x64xf32>
  return %0, %2 : tensor<8x1024x64xf32>, tensor<8x16x64xf32>
}

// -----

// Of nothing there is nothing that is read too late.
// CHECK: func.func @nothing(
func.func @nothing(%a: tensor<0x256xf32>) -> tensor<0x256xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.exp %a : (tensor<0x256xf32>) -> tensor<0x256xf32>
  return %0 : tensor<0x256xf32>
}
