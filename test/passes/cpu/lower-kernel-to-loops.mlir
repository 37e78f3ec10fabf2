// RUN: weft-opt %s --pass-pipeline="builtin.module(func.func(convert-nn-to-linalg,cse),cpu-lower-kernel-to-loops,func.func(cse))" --split-input-file | FileCheck %s

// The entry has the runtime's kernel type and tells the number of units; a
// whole elementwise kernel is one loop over chunks of joined dims.
// CHECK-LABEL: func.func private @chain.body(
// CHECK-SAME: %[[BEGIN:.+]]: index, %[[END:.+]]: index, %{{.+}}: !llvm.ptr {llvm.noalias}, %{{.+}}: !llvm.ptr {llvm.noalias}
// CHECK: scf.for %[[UNIT:.+]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[CHUNK:.+]] = arith.constant 1024 : index
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[CHUNK]]
// CHECK-NOT: scf.for
// CHECK: llvm.load
// CHECK: math.exp
// CHECK: arith.negf
// CHECK: llvm.store
// CHECK: func.func @chain(%{{.+}}: index, %{{.+}}: index, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr)
// CHECK-SAME: rt.parallel_extent = 64 : i64
func.func @chain(%a: tensor<16x64x64xf32>) -> tensor<16x64x64xf32> {
  %b = nn.exp %a : (tensor<16x64x64xf32>) -> tensor<16x64x64xf32>
  %r = nn.negate %b : (tensor<16x64x64xf32>) -> tensor<16x64x64xf32>
  return %r : tensor<16x64x64xf32>
}

// -----

// Softmax: a unit is a row, maximum and sum are registers, the exponentials one
// row on the stack; they are not computed twice.
// CHECK-LABEL: func.func private @softmax.body(
// CHECK: %[[LENGTH:.+]] = llvm.mlir.constant(80 : i64)
// CHECK: %[[ROW:.+]] = llvm.alloca %[[LENGTH]] x f32
// CHECK: scf.for
// CHECK: %[[MAX:.+]] = scf.for {{.*}} iter_args
// CHECK: arith.maximumf
// CHECK: scf.for
// CHECK: math.exp
// CHECK: llvm.getelementptr inbounds %[[ROW]]
// CHECK: llvm.store
// CHECK: %[[SUM:.+]] = scf.for {{.*}} iter_args
// CHECK: arith.addf {{.*}} fastmath<reassoc>
// CHECK: arith.divf %{{.+}}, %[[SUM]]
// CHECK-NOT: math.exp
// CHECK: rt.parallel_extent = 40 : i64
func.func @softmax(%a: tensor<40x80xf32>) -> tensor<40x80xf32> {
  %r = nn.softmax %a dim = 1 : (tensor<40x80xf32>) -> tensor<40x80xf32>
  return %r : tensor<40x80xf32>
}

// -----

// Reshape and transpose cost no division: the loop over 96 is cut into 6 x 16.
// CHECK-LABEL: func.func private @heads.body(
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: func.func @heads(
func.func @heads(%a: tensor<6x10x16xf32>) -> tensor<10x96xf32> {
  %b = nn.transpose %a permutation = [1, 0, 2] : tensor<6x10x16xf32> -> tensor<10x6x16xf32>
  %r = nn.reshape %b : tensor<10x6x16xf32> -> tensor<10x96xf32>
  return %r : tensor<10x96xf32>
}

// -----

// The sum over rows goes along memory: partial sums of a run of columns lie in
// the result while the loop over rows goes around it.
// CHECK-LABEL: func.func private @columns.body(
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} {
// CHECK: %[[ROWS:.+]] = arith.constant 70 : index
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[ROWS]]
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: arith.addf
// CHECK: llvm.store
func.func @columns(%a: tensor<70x640xf32>) -> tensor<640xf32> {
  %r = nn.reduce sum %a dims = [0] : tensor<70x640xf32> -> tensor<640xf32>
  return %r : tensor<640xf32>
}

// -----

// A constant that is not one number lies in memory, bools as bytes.
// CHECK-LABEL: func.func private @mask.body(
// CHECK: llvm.mlir.addressof @mask.constant0
// CHECK: llvm.mlir.global internal constant @mask.constant0(dense<[1, 0, 1]> : tensor<3xi8>)
func.func @mask(%a: tensor<3xi1>) -> tensor<3xi1> {
  %c = nn.constant dense<[true, false, true]> : tensor<3xi1> : tensor<3xi1>
  %r = nn.and %a, %c : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  return %r : tensor<3xi1>
}

// -----

// Padding is a branch, and none where the padded dim does not matter.
// CHECK-LABEL: func.func private @pad.body(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.if
// CHECK: llvm.load
// CHECK: else
func.func @pad(%a: tensor<40x30xf32>) -> tensor<40x34xf32> {
  %r = nn.pad %a low = [0, 2] high = [0, 2] value = 0.0 : f32 : tensor<40x30xf32> -> tensor<40x34xf32>
  return %r : tensor<40x34xf32>
}

// -----

// A view that joins dims and splits them at other places is still one run
// through memory: the indices that it takes apart are put together again.
// CHECK-LABEL: func.func private @rejoined.body(
// CHECK-NOT: arith.remui
// CHECK-NOT: arith.divui
// CHECK: return
func.func @rejoined(%a: tensor<1x16x40x9xf32>, %b: tensor<16x40x3x3xf32>) -> tensor<16x40x3x3xf32> {
  %c = nn.reshape %a : tensor<1x16x40x9xf32> -> tensor<16x40x3x3xf32>
  %r = nn.add %c, %b : (tensor<16x40x3x3xf32>, tensor<16x40x3x3xf32>) -> tensor<16x40x3x3xf32>
  return %r : tensor<16x40x3x3xf32>
}

// -----

// Columns that no second thread would come for are not cut apart: each row is read along memory.
// CHECK-LABEL: func.func private @few_columns.body(
// CHECK: func.func @few_columns(
// CHECK-SAME: rt.parallel_extent = 1 : i64
func.func @few_columns(%a: tensor<256x64xf32>) -> tensor<64xf32> {
  %r = nn.reduce sum %a dims = [0] : tensor<256x64xf32> -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// Nor are they where all threads together would be as fast as one is along memory.
// CHECK-LABEL: func.func private @narrow_columns.body(
// CHECK: func.func @narrow_columns(
// CHECK-SAME: rt.parallel_extent = 1 : i64
func.func @narrow_columns(%a: tensor<8x128x768xbf16>) -> tensor<768xf32> {
  %w = nn.cast %a : (tensor<8x128x768xbf16>) -> tensor<8x128x768xf32>
  %r = nn.reduce sum %w dims = [0, 1] : tensor<8x128x768xf32> -> tensor<768xf32>
  return %r : tensor<768xf32>
}

// -----

// CHECK-LABEL: func.func private @many_columns.body(
// CHECK: func.func @many_columns(
// CHECK-SAME: rt.parallel_extent = 16 : i64
func.func @many_columns(%a: tensor<2048x1024xf32>) -> tensor<1024xf32> {
  %r = nn.reduce sum %a dims = [0] : tensor<2048x1024xf32> -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}

// -----

// A result of 64 rows for each of another's: a unit has all that one row is the sum of, of which it writes both.
// CHECK-LABEL: func.func private @row_groups.body(
// CHECK: func.func @row_groups(
// CHECK-SAME: rt.parallel_extent = 128 : i64
func.func @row_groups(%x: tensor<8x1024x64xf32>) -> (tensor<8x1024x64xf32>, tensor<8x16x64xf32>) {
  %0 = nn.exp %x : (tensor<8x1024x64xf32>) -> tensor<8x1024x64xf32>
  %1 = nn.reshape %0 : tensor<8x1024x64xf32> -> tensor<8x16x64x64xf32>
  %2 = nn.reduce sum %1 dims = [2] : tensor<8x16x64x64xf32> -> tensor<8x16x64xf32>
  return %0, %2 : tensor<8x1024x64xf32>, tensor<8x16x64xf32>
}

// -----

// What is left of the concatenation reads none of the sum, which is a number of two parts: neither is computed.
// CHECK-LABEL: func.func private @unread_number.body(
// CHECK-NOT: 512
// CHECK: func.func @unread_number(
func.func @unread_number(%x: tensor<64x512xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.reduce sum %x dims = [0, 1] : tensor<64x512xf32> -> tensor<f32>
  %1 = nn.reshape %0 : tensor<f32> -> tensor<1xf32>
  %2 = nn.concat %1, %y dim = 0 : (tensor<1xf32>, tensor<8xf32>) -> tensor<9xf32>
  %3 = nn.slice %2 starts = [1] strides = [1] : tensor<9xf32> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
