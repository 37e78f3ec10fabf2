// RUN: weft-opt %s --cuda-lower-kernel-to-gpu | FileCheck %s

// One nest: all threads share it, eight elements of 16 bits a time, of which each access has 16 bytes; the last
// elements one by one.
// CHECK-LABEL: gpu.module @flat
// CHECK: gpu.func @flat(%[[X:.+]]: memref<231xf32> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly},
// CHECK-SAME: %[[R:[a-z0-9]+]]: memref<231xbf16> {llvm.align = 16 : i64, llvm.noalias}) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, weft.grid = 1 : i64
// CHECK: scf.if
// CHECK-COUNT-1: vector.load %[[X]][{{.+}}] {alignment = 16 : i64} : memref<231xf32>, vector<8xf32>
// CHECK-NOT: memref.store
// CHECK: vector.store {{.+}}, %[[R]][{{.+}}] {alignment = 16 : i64} : memref<231xbf16>, vector<8xbf16>
// CHECK: scf.if
// CHECK: memref.store {{.+}}, %[[R]]
func.func @flat(%x: tensor<33x7xf32>) -> tensor<33x7xbf16> {
  %0 = nn.add %x, %x : (tensor<33x7xf32>, tensor<33x7xf32>) -> tensor<33x7xf32>
  %1 = nn.cast %0 : (tensor<33x7xf32>) -> tensor<33x7xbf16>
  return %1 : tensor<33x7xbf16>
}

// Rows: a block each. The sum of squares is taken by shuffles and then between warps, and stays in registers.
// CHECK-LABEL: gpu.func @rows(
// CHECK-SAME: workgroup(%[[PARTS:.+]] : memref<4xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, weft.grid = 256 : i64
// CHECK: gpu.block_id
// CHECK: vector.load {{.*}}vector<4xf32>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.store {{.+}}, %[[PARTS]]
// CHECK: gpu.barrier
// CHECK-COUNT-2: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: math.sqrt
// CHECK: vector.store {{.*}}vector<4xf32>
func.func @rows(%x: tensor<256x512xf32>, %s: tensor<512xf32>) -> tensor<256x512xf32> {
  %r = nn.rms_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<256x512xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  return %r : tensor<256x512xf32>
}

// A result that overwrites an argument: the argument's pointer is not used.
// CHECK-LABEL: gpu.func @in_place(
// CHECK-SAME: %[[OLD:.+]]: memref<8xf32> {llvm.align = 16 : i64, llvm.noalias}, %[[NEW:.+]]: memref<8xf32>
// CHECK-NOT: %[[OLD]]
// CHECK: vector.load %[[NEW]]
// CHECK: vector.store {{.+}}, %[[NEW]]
func.func @in_place(%x: tensor<8xf32>) -> tensor<8xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.mul %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Single elements are computed by all threads; one of them may overwrite what they read when all have.
// CHECK-LABEL: gpu.func @number_in_place(
// CHECK-SAME: %{{[^:]+}}: memref<1xf32>{{[^%]*}}%{{[^:]+}}: memref<1xf32>{{[^%]*}}%[[FIRST:[^:]+]]: memref<1xf32>{{[^%]*}}%[[BOTH:[^:]+]]: memref<1xf32>
// CHECK: memref.load %[[BOTH]]
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %[[FIRST]]
// CHECK: memref.store %{{.*}}, %[[BOTH]]
func.func @number_in_place(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {rt.in_place = array<i64: -1, 0>} {
  %0 = nn.cast %x : (tensor<f32>) -> tensor<f64>
  %1 = nn.cast %y : (tensor<f32>) -> tensor<f64>
  %2 = nn.div %0, %1 : tensor<f64>
  %3 = nn.div %1, %2 : tensor<f64>
  %4 = nn.sqrt %3 : tensor<f64>
  %5 = nn.div %1, %4 : tensor<f64>
  %6 = nn.min %5, %1 : tensor<f64>
  %7 = nn.cast %4 : (tensor<f64>) -> tensor<f32>
  %8 = nn.cast %6 : (tensor<f64>) -> tensor<f32>
  return %7, %8 : tensor<f32>, tensor<f32>
}

// Conditions of which both branches only read are chosen late, so that lanes read together: outside of the operand the
// place is moved into it, and the element not used.
// CHECK-LABEL: gpu.func @padded(
// CHECK-NOT: memref.load
// CHECK: %[[LOW:.+]] = arith.maxsi
// CHECK: %[[PLACE:.+]] = arith.minsi %[[LOW]]
// CHECK: vector.load %{{.+}}[%[[PLACE]]] {alignment = 16 : i64} : memref<4096xbf16>, vector<8xbf16>
// CHECK-NOT: memref.load
// CHECK: arith.select
// CHECK: vector.store
func.func @padded(%x: tensor<64x64xbf16>) -> tensor<64x128xbf16> {
  %0 = nn.pad %x low = [0, 32] high = [0, 32] value = 0.000000e+00 : bf16 : tensor<64x64xbf16> -> tensor<64x128xbf16>
  return %0 : tensor<64x128xbf16>
}

// Of three elements, of which two are read at a time, the last is in a vector that ends behind them: all are read one by one.
// CHECK-LABEL: gpu.func @joint(
// CHECK-NOT: vector.load
// CHECK: memref.load %arg0
// CHECK: memref.load %arg1
// CHECK: vector.store {{.+}} memref<6xi64>, vector<2xi64>
// CHECK: gpu.return
func.func @joint(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<6xi64> {
  %0 = nn.concat %x, %y dim = 0 : (tensor<3xi64>, tensor<3xi64>) -> tensor<6xi64>
  return %0 : tensor<6xi64>
}

// A long sum is a sum of pieces for the CPU, here of 393 elements, which no vector divides. Threads make pieces of
// their own: there is one loop, over runs of eight.
// CHECK-LABEL: gpu.func @long_sum(
// CHECK-SAME: weft.grid = 16 : i64
// CHECK: %[[RUNS:.+]] = arith.constant 6288 : index
// CHECK: scf.for %{{.+}} to %[[RUNS]]
// CHECK-NOT: scf.for
// CHECK: vector.load {{.*}}vector<8xbf16>
// CHECK-NOT: scf.for
// CHECK: gpu.return
func.func @long_sum(%x: tensor<16x50304xbf16>) -> tensor<16xf32> {
  %0 = nn.cast %x : (tensor<16x50304xbf16>) -> tensor<16x50304xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<16x50304xf32> -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// The greatest of a row and the sum of the exponentials of distances to it are one pass: of eight elements the greatest
// comes first, then the sum so far is scaled once. A label's element is looked up, not summed up.
// CHECK-LABEL: gpu.func @log_sum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<804864xbf16>
// CHECK: scf.for %{{.+}} to %{{.+}} step %{{.+}} iter_args(%{{[a-z0-9_]+}} = %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} = %{{[a-z0-9_]+}}) -> (f32, f32)
// CHECK-NOT: scf.for
// CHECK: vector.load %[[X]]
// CHECK-COUNT-9: math.exp2
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK: memref.load %[[X]]
// CHECK-NOT: scf.for
// CHECK: gpu.return
func.func @log_sum(%x: tensor<16x50304xbf16>, %i: tensor<16xi64>) -> tensor<16xf32> {
  %0 = nn.cast %x : (tensor<16x50304xbf16>) -> tensor<16x50304xf32>
  %1 = nn.reduce max %0 dims = [1] : tensor<16x50304xf32> -> tensor<16xf32>
  %2 = nn.broadcast %1 dims = [0] : tensor<16xf32> -> tensor<16x50304xf32>
  %3 = nn.sub %0, %2 : tensor<16x50304xf32>
  %4 = nn.exp %3 : tensor<16x50304xf32>
  %5 = nn.reduce sum %4 dims = [1] : tensor<16x50304xf32> -> tensor<16xf32>
  %6 = nn.log %5 : tensor<16xf32>
  %7 = nn.add %6, %1 : tensor<16xf32>
  %8 = nn.reshape %i : tensor<16xi64> -> tensor<16x1xi64>
  %9 = nn.gather %x, %8 indexed = [1] operand_batch = [0] indices_batch = [0] : (tensor<16x50304xbf16>, tensor<16x1xi64>) -> tensor<16xbf16>
  %10 = nn.cast %9 : (tensor<16xbf16>) -> tensor<16xf32>
  %11 = nn.sub %7, %10 : tensor<16xf32>
  return %11 : tensor<16xf32>
}

// Passes over the same rows follow each other in one warp, without a barrier: a row of 256 elements, of which a lane has
// eight, is read once for its sum, for its squares and for the result. Sums over the rows come behind all of them.
// CHECK-LABEL: gpu.func @row_by_row(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<131072xbf16>
// CHECK: scf.for
// CHECK: vector.load %[[X]]
// CHECK-NOT: vector.load %[[X]]
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK-NOT: vector.load %[[X]]
// CHECK-NOT: gpu.barrier
// CHECK: vector.store {{.+}} : memref<131072xbf16>, vector<8xbf16>
// CHECK: gpu.barrier
// CHECK: vector.load
// CHECK: gpu.return
func.func @row_by_row(%x: tensor<32x16x256xbf16>) -> (tensor<32x16x256xbf16>, tensor<32x256xf32>) {
  %0 = nn.cast %x : (tensor<32x16x256xbf16>) -> tensor<32x16x256xf32>
  %1 = nn.reduce sum %0 dims = [2] : tensor<32x16x256xf32> -> tensor<32x16xf32>
  %2 = nn.broadcast %1 dims = [0, 1] : tensor<32x16xf32> -> tensor<32x16x256xf32>
  %3 = nn.sub %0, %2 : tensor<32x16x256xf32>
  %4 = nn.mul %3, %3 : tensor<32x16x256xf32>
  %5 = nn.reduce sum %4 dims = [2] : tensor<32x16x256xf32> -> tensor<32x16xf32>
  %6 = nn.broadcast %5 dims = [0, 1] : tensor<32x16xf32> -> tensor<32x16x256xf32>
  %7 = nn.div %3, %6 : tensor<32x16x256xf32>
  %8 = nn.cast %7 : (tensor<32x16x256xf32>) -> tensor<32x16x256xbf16>
  %9 = nn.cast %8 : (tensor<32x16x256xbf16>) -> tensor<32x16x256xf32>
  %10 = nn.reduce sum %9 dims = [1] : tensor<32x16x256xf32> -> tensor<32x256xf32>
  return %8, %10 : tensor<32x16x256xbf16>, tensor<32x256xf32>
}

// What lanes have read of a row is overwritten when all of the warp have: a lane overwrites four elements of %x, and has read eight
// beside those of %y. A number that all lanes read is overwritten likewise. Of %y only the lane reads that overwrites it.
// CHECK-LABEL: gpu.func @row_by_row_in_place(
// CHECK-SAME: %{{[^:]+}}: memref<512xf32>{{[^%]*}}%{{[^:]+}}: memref<131072xf32>{{[^%]*}}%{{[^:]+}}: memref<131072xbf16>{{[^%]*}}%[[N:[^:]+]]: memref<512xf32>{{[^%]*}}%[[X:[^:]+]]: memref<131072xf32>{{[^%]*}}%[[Y:[^:]+]]: memref<131072xbf16>
// CHECK: vector.load %[[X]]{{.+}}vector<4xf32>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.load %[[N]]
// CHECK: %[[LANES:.+]] = arith.constant -1 : i32
// CHECK-NEXT: nvvm.bar.warp.sync %[[LANES]] : i32
// CHECK: memref.store {{.+}}, %[[N]]
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: vector.load %[[X]]{{.+}}vector<8xf32>
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: vector.store {{.+}}, %[[Y]]
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: vector.store {{.+}}, %[[X]]{{.+}}vector<4xf32>
// CHECK: gpu.barrier
// CHECK-NOT: nvvm.bar.warp.sync
// CHECK: gpu.return
func.func @row_by_row_in_place(%n: tensor<32x16xf32>, %x: tensor<32x16x256xf32>, %y: tensor<32x16x256xbf16>)
    -> (tensor<32x16xf32>, tensor<32x16x256xf32>, tensor<32x16x256xbf16>, tensor<32x256xf32>) attributes {rt.in_place = array<i64: 0, 1, 2, -1>} {
  %0 = nn.reduce sum %x dims = [2] : tensor<32x16x256xf32> -> tensor<32x16xf32>
  %1 = nn.add %n, %0 : tensor<32x16xf32>
  %2 = nn.broadcast %1 dims = [0, 1] : tensor<32x16xf32> -> tensor<32x16x256xf32>
  %3 = nn.cast %y : (tensor<32x16x256xbf16>) -> tensor<32x16x256xf32>
  %4 = nn.add %x, %3 : tensor<32x16x256xf32>
  %5 = nn.cast %4 : (tensor<32x16x256xf32>) -> tensor<32x16x256xbf16>
  %6 = nn.add %x, %2 : tensor<32x16x256xf32>
  %7 = nn.reduce sum %6 dims = [1] : tensor<32x16x256xf32> -> tensor<32x256xf32>
  return %1, %6, %5, %7 : tensor<32x16xf32>, tensor<32x16x256xf32>, tensor<32x16x256xbf16>, tensor<32x256xf32>
}

// Of fewer rows than warps all threads share the elements: a barrier stands before them.
// CHECK-LABEL: gpu.func @few_rows(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: vector.store {{.+}} : memref<131072xbf16>, vector<8xbf16>
// CHECK: gpu.return
func.func @few_rows(%x: tensor<32x4x1024xbf16>) -> (tensor<32x4x1024xbf16>, tensor<32x1024xf32>) {
  %0 = nn.cast %x : (tensor<32x4x1024xbf16>) -> tensor<32x4x1024xf32>
  %1 = nn.reduce sum %0 dims = [2] : tensor<32x4x1024xf32> -> tensor<32x4xf32>
  %2 = nn.broadcast %1 dims = [0, 1] : tensor<32x4xf32> -> tensor<32x4x1024xf32>
  %3 = nn.sub %0, %2 : tensor<32x4x1024xf32>
  %4 = nn.cast %3 : (tensor<32x4x1024xf32>) -> tensor<32x4x1024xbf16>
  %5 = nn.cast %4 : (tensor<32x4x1024xbf16>) -> tensor<32x4x1024xf32>
  %6 = nn.reduce sum %5 dims = [1] : tensor<32x4x1024xf32> -> tensor<32x1024xf32>
  return %4, %6 : tensor<32x4x1024xbf16>, tensor<32x1024xf32>
}

// A row is read again where a lane would have to keep more than sixteen accesses of it: here four of each of five operands.
// CHECK-LABEL: gpu.func @row_by_row_of_many(
// CHECK: scf.for
// CHECK-NOT: vector.load
// CHECK: scf.for
// CHECK: vector.load
// CHECK: gpu.return
func.func @row_by_row_of_many(%a: tensor<32x16x1024xbf16>, %b: tensor<32x16x1024xbf16>, %c: tensor<32x16x1024xbf16>, %d: tensor<32x16x1024xbf16>,
                              %e: tensor<32x16x1024xbf16>) -> (tensor<32x16x1024xbf16>, tensor<32x1024xf32>) {
  %0 = nn.add %a, %b : tensor<32x16x1024xbf16>
  %1 = nn.mul %0, %c : tensor<32x16x1024xbf16>
  %2 = nn.add %1, %d : tensor<32x16x1024xbf16>
  %3 = nn.mul %2, %e : tensor<32x16x1024xbf16>
  %4 = nn.cast %3 : (tensor<32x16x1024xbf16>) -> tensor<32x16x1024xf32>
  %5 = nn.reduce sum %4 dims = [2] : tensor<32x16x1024xf32> -> tensor<32x16xf32>
  %6 = nn.broadcast %5 dims = [0, 1] : tensor<32x16xf32> -> tensor<32x16x1024xf32>
  %7 = nn.sub %4, %6 : tensor<32x16x1024xf32>
  %8 = nn.cast %7 : (tensor<32x16x1024xf32>) -> tensor<32x16x1024xbf16>
  %9 = nn.cast %8 : (tensor<32x16x1024xbf16>) -> tensor<32x16x1024xf32>
  %10 = nn.reduce sum %9 dims = [1] : tensor<32x16x1024xf32> -> tensor<32x1024xf32>
  return %8, %10 : tensor<32x16x1024xbf16>, tensor<32x1024xf32>
}

// What is looked up in a row that is then overwritten is read before.
// CHECK-LABEL: gpu.func @looked_up_in_place(
// CHECK-SAME: %{{[^:]+}}: memref<4096xf32>{{[^%]*}}%{{[^:]+}}: memref<32xi64>{{[^%]*}}%[[BOTH:[^:]+]]: memref<4096xf32>
// CHECK: memref.load %[[BOTH]]
// CHECK: gpu.barrier
// CHECK: vector.load %[[BOTH]]
// CHECK: vector.store %{{.*}}, %[[BOTH]]
func.func @looked_up_in_place(%x: tensor<32x128xf32>, %i: tensor<32x1xi64>) -> tensor<32x128xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.gather %x, %i indexed = [1] operand_batch = [0] indices_batch = [0] : (tensor<32x128xf32>, tensor<32x1xi64>) -> tensor<32xf32>
  %1 = nn.broadcast %0 dims = [0] : tensor<32xf32> -> tensor<32x128xf32>
  %2 = nn.sub %x, %1 : tensor<32x128xf32>
  return %2 : tensor<32x128xf32>
}

// A row is overwritten when all threads have read it for its sum: a barrier stands between.
// CHECK-LABEL: gpu.func @rows_in_place(
// CHECK-SAME: %{{[^:]+}}: memref<4096xf32>{{[^%]*}}%[[BOTH:[^:]+]]: memref<4096xf32>
// CHECK: vector.load %[[BOTH]]
// CHECK: gpu.barrier
// CHECK: vector.load %[[BOTH]]
// CHECK: vector.store %{{.*}}, %[[BOTH]]
func.func @rows_in_place(%x: tensor<32x128xf32>) -> tensor<32x128xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.exp %x : (tensor<32x128xf32>) -> tensor<32x128xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<32x128xf32> -> tensor<32xf32>
  %2 = nn.broadcast %1 dims = [0] : tensor<32xf32> -> tensor<32x128xf32>
  %3 = nn.div %0, %2 : tensor<32x128xf32>
  return %3 : tensor<32x128xf32>
}

// Rows that are filled and then changed, the gradient of a lookup: each block fills every 786th row, lists which of all changes
// are its own, in order, and does them. The operands of eight are read while the eight before are done.
// CHECK-LABEL: gpu.func @changed_rows(
// CHECK-SAME: %[[INDICES:[a-z0-9]+]]: memref<16384xi64>{{[^%]*}}%[[UPDATES:[a-z0-9]+]]: memref<12582912xf32>{{[^%]*}}%[[ROWS:[a-z0-9]+]]: memref<38633472xf32>
// CHECK-SAME: workgroup(%[[BITS:[a-z0-9]+]] : memref<256xi32, {{.*}}, %[[COUNTS:[a-z0-9]+]] : memref<8xi32, {{.*}}, %[[LIST:[a-z0-9]+]] : memref<8192xi16,
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, weft.grid = 786 : i64, weft.resident = 2 : i32
// CHECK: %[[BLOCK:.+]] = gpu.block_id x
// CHECK: vector.store {{.+}}, %[[ROWS]][{{.+}}] {alignment = 16 : i64} : memref<38633472xf32>, vector<4xf32>
// CHECK: scf.for %{{.+}} = %{{.+}} to %c16384 step %c8192
// CHECK: memref.load %[[INDICES]]
// CHECK: %[[TURN:.+]] = arith.remui %{{.+}}, %c786_i32
// CHECK: arith.cmpi eq, %[[TURN]]
// CHECK-COUNT-3: memref.load %[[INDICES]]
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: math.ctpop
// CHECK: memref.store %{{.+}}, %[[BITS]]
// CHECK: memref.store %{{.+}}, %[[COUNTS]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[COUNTS]]
// CHECK: memref.load %[[BITS]]
// CHECK: memref.store %{{.+}}, %[[LIST]]
// CHECK: gpu.barrier
// CHECK-COUNT-8: vector.load %[[UPDATES]]
// CHECK: scf.for {{.+}} iter_args(
// CHECK-COUNT-8: vector.load %[[UPDATES]]
// CHECK-COUNT-8: vector.store %{{.+}}, %[[ROWS]]
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: vector.load %[[UPDATES]]
// CHECK: vector.load %[[ROWS]]
// CHECK: arith.addf
// CHECK: vector.store %{{.+}}, %[[ROWS]]
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func @changed_rows(%i: tensor<16x1024x1xi64>, %u: tensor<16x1024x768xf32>) -> tensor<50304x768xf32> {
  %0 = nn.constant dense<0.0> : tensor<50304x768xf32> : tensor<50304x768xf32>
  %1 = nn.scatter add %0, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<50304x768xf32>, tensor<16x1024x1xi64>, tensor<16x1024x768xf32>) -> tensor<50304x768xf32>
  return %1 : tensor<50304x768xf32>
}

// Where each row has indices of its own, a block has one row, and parts of it are made by others.
// CHECK-LABEL: gpu.func @changed_in_each_row(
// CHECK-SAME: weft.grid = 512 : i64
// CHECK: math.ctpop
func.func @changed_in_each_row(%x: tensor<16x1024x64xf32>, %i: tensor<16x256x1xi64>, %u: tensor<16x256x64xf32>) -> tensor<16x1024x64xf32> {
  %0 = nn.scatter max %x, %i, %u indexed = [1] operand_batch = [0] indices_batch = [0] : (tensor<16x1024x64xf32>, tensor<16x256x1xi64>, tensor<16x256x64xf32>) -> tensor<16x1024x64xf32>
  return %0 : tensor<16x1024x64xf32>
}

// Two sums of the same rows are one loop: eight sums of four lanes each.
// CHECK-LABEL: gpu.func @joined(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-NOT: scf.for
// CHECK: gpu.return
func.func @joined(%a: tensor<64x512xf32>, %x: tensor<64x512xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = nn.mul %a, %x : tensor<64x512xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<64x512xf32> -> tensor<64xf32>
  %2 = nn.exp %a : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %3 = nn.reduce sum %2 dims = [1] : tensor<64x512xf32> -> tensor<64xf32>
  return %1, %3 : tensor<64xf32>, tensor<64xf32>
}

// Joined, the first of these would stand behind what overwrites its argument: they stay two.
// CHECK-LABEL: gpu.func @not_joined(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
// CHECK: vector.store
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
// CHECK: gpu.return
func.func @not_joined(%a: tensor<64x512xf32>, %x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> (tensor<64xf32>, tensor<64x512xf32>, tensor<64xf32>) attributes {rt.in_place = array<i64: -1, 0, -1>} {
  %0 = nn.mul %a, %x : tensor<64x512xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<64x512xf32> -> tensor<64xf32>
  %2 = nn.exp %a : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %3 = nn.mul %x, %y : tensor<64x512xf32>
  %4 = nn.reduce sum %3 dims = [1] : tensor<64x512xf32> -> tensor<64xf32>
  return %1, %2, %4 : tensor<64xf32>, tensor<64x512xf32>, tensor<64xf32>
}

// Along columns: 64 groups of threads, which each take every 64th row of 16 columns, leave their sums in workgroup memory.
// CHECK-LABEL: gpu.func @columns(
// CHECK-SAME: workgroup(%[[SUMS:.+]] : memref<1024xf32,
// CHECK-SAME: weft.grid = 6 : i64
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
// CHECK: vector.store {{.*}}, %[[SUMS]]
// CHECK: gpu.barrier
// CHECK-COUNT-64: vector.load %[[SUMS]]
// CHECK: gpu.return
func.func @columns(%a: tensor<4096x96xf32>) -> tensor<96xf32> {
  %0 = nn.reduce sum %a dims = [0] : tensor<4096x96xf32> -> tensor<96xf32>
  return %0 : tensor<96xf32>
}

// One column lies in memory as a row does.
// CHECK-LABEL: gpu.func @one_column(
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: gpu.shuffle
// CHECK: gpu.return
func.func @one_column(%a: tensor<65536x1xf32>) -> tensor<1xf32> {
  %0 = nn.reduce sum %a dims = [0] : tensor<65536x1xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// Several nests list their changes in one memory.
// CHECK-LABEL: gpu.func @one_list(
// CHECK-SAME: xi16, #gpu.address_space<workgroup>>
// CHECK-NOT: xi16, #gpu.address_space<workgroup>>
// CHECK-SAME: kernel
func.func @one_list(%x: tensor<5000x8xf32>, %i: tensor<9000x1xi64>, %u: tensor<9000x8xf32>, %v: tensor<9000x8xf32>) -> tensor<5000x8xf32> {
  %0 = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<5000x8xf32>, tensor<9000x1xi64>, tensor<9000x8xf32>) -> tensor<5000x8xf32>
  %1 = nn.scatter max %x, %i, %v indexed = [0] operand_batch = [] indices_batch = [] : (tensor<5000x8xf32>, tensor<9000x1xi64>, tensor<9000x8xf32>) -> tensor<5000x8xf32>
  %2 = nn.add %0, %1 : tensor<5000x8xf32>
  return %2 : tensor<5000x8xf32>
}

// What is written before a barrier and read behind it may not be said to be apart from all else: LLVM would move accesses
// of it across.
// CHECK-LABEL: gpu.func @residual_norm(
// CHECK-SAME: %[[SUM:[a-z0-9]+]]: memref<262144xf32> {llvm.align = 16 : i64}, %[[NORM:[a-z0-9]+]]: memref<262144xf32> {llvm.align = 16 : i64, llvm.noalias})
// CHECK: vector.store %{{.+}}, %[[SUM]]
// CHECK: gpu.barrier
// CHECK: vector.load %[[SUM]]
// CHECK: vector.store %{{.+}}, %[[NORM]]
func.func @residual_norm(%a: tensor<64x4096xf32>, %b: tensor<64x4096xf32>, %scale: tensor<4096xf32>) -> (tensor<64x4096xf32>, tensor<64x4096xf32>) {
  %sum = nn.add %a, %b : (tensor<64x4096xf32>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %norm = nn.rms_norm %sum, %scale dim = 1 epsilon = 1.0e-5 : (tensor<64x4096xf32>, tensor<4096xf32>) -> tensor<64x4096xf32>
  return %sum, %norm : tensor<64x4096xf32>, tensor<64x4096xf32>
}
