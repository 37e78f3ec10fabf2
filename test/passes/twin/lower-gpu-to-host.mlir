// RUN: weft-opt %s --twin-lower-gpu-to-host --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-twin-pipeline --split-input-file | FileCheck %s --check-prefix=LLVM

// A kernel becomes a record, a launch, and the code of a thread. An access is told, with what it promises, and done.
// CHECK: llvm.func @weft_emulator_access(!llvm.ptr, !llvm.ptr, i64, i64, i32)
// CHECK: llvm.mlir.global internal constant @copy.buffers(dense<[400, 4, 16, 400, 4, 4]> : tensor<6xi64>)
// CHECK: llvm.mlir.global internal constant @copy.name("copy\00")
// CHECK: llvm.mlir.global internal constant @copy.kernel()
// CHECK: llvm.func @copy(%[[BEGIN:.+]]: i64, %[[END:.+]]: i64, %[[POINTERS:.+]]: !llvm.ptr, %{{.+}}: !llvm.ptr) {
// CHECK: %[[RECORD:.+]] = llvm.mlir.addressof @copy.kernel
// CHECK: llvm.call @weft_emulator_launch(%[[RECORD]], %[[BEGIN]], %[[END]], %[[POINTERS]])
// Its image for a driver that emulates a GPU: the function, grid and threads, and how its arguments are aligned.
// CHECK: llvm.mlir.global internal constant @copy.code()
// CHECK: llvm.mlir.addressof @copy : !llvm.ptr
// CHECK: llvm.mlir.global external constant @copy.image()
// CHECK: llvm.mlir.addressof @copy.code : !llvm.ptr
// CHECK: llvm.mlir.constant(16 : i32) : i32
// CHECK-LABEL: llvm.func internal @copy.thread(
// CHECK-SAME: %[[THREAD:.+]]: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr) {
// CHECK: %[[INDEX:.+]] = arith.index_cast %{{.+}} : i64 to index
// CHECK: %[[OUTSIDE:.+]] = arith.cmpi uge, %[[INDEX]], %{{.+}} : index
// CHECK-NEXT: scf.if %[[OUTSIDE]]
// CHECK: llvm.call @weft_emulator_outside(%[[THREAD]],
// CHECK: %[[ADDRESS:.+]] = llvm.getelementptr
// CHECK: %[[BYTES:.+]] = arith.constant 4 : i64
// CHECK: %[[ALIGNMENT:.+]] = arith.constant 4 : i64
// CHECK: %[[READ:.+]] = arith.constant 0 : i32
// CHECK: llvm.call @weft_emulator_access(%[[THREAD]], %[[ADDRESS]], %[[BYTES]], %[[ALIGNMENT]], %[[READ]])
// CHECK: llvm.load %[[ADDRESS]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: %[[WRITE:.+]] = arith.constant 1 : i32
// CHECK: llvm.call @weft_emulator_access({{.+}}, %[[WRITE]])
// CHECK: llvm.store {{.+}} : f32, !llvm.ptr
// CHECK-NOT: gpu.

// LLVM: llvm.func internal @copy.thread(
// LLVM-NOT: {{scf|arith|vector|memref|gpu}}.
gpu.module @copy {
  gpu.func @copy(%x: memref<100xf32> {llvm.align = 16 : i64}, %y: memref<100xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, weft.grid = 1 : i64} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<100xf32>
    memref.store %v, %y[%t] : memref<100xf32>
    gpu.return
  }
}

// -----

// Sites of barriers and shuffles have numbers of their own; an f32 travels as bits.
// CHECK: @exchange.buffers(dense<[8, 2, 2, 64, 4, 4]>
// CHECK-LABEL: llvm.func internal @exchange.thread(
// CHECK: %[[BITS:.+]] = arith.bitcast %{{.+}} : f32 to i32
// CHECK: %[[SITE:.+]] = arith.constant 0 : i32
// CHECK: %[[XOR:.+]] = arith.constant 0 : i32
// CHECK: %[[BOTH:.+]] = llvm.call @weft_emulator_shuffle(%{{.+}}, %[[SITE]], %[[XOR]], %[[BITS]], %{{.+}}, %{{.+}}) : (!llvm.ptr, i32, i32, i32, i32, i32) -> i64
// CHECK: %[[LOW:.+]] = arith.trunci %[[BOTH]] : i64 to i32
// CHECK: arith.bitcast %[[LOW]] : i32 to f32
// CHECK: %[[NEXT:.+]] = arith.constant 1 : i32
// CHECK: llvm.call @weft_emulator_barrier(%{{.+}}, %[[NEXT]])
// CHECK: %[[WARP:.+]] = arith.constant 2 : i32
// CHECK: llvm.call @weft_emulator_warp_barrier(%{{.+}}, %[[WARP]])
// CHECK: %[[LAST:.+]] = arith.constant 3 : i32
// CHECK: llvm.call @weft_emulator_barrier(%{{.+}}, %[[LAST]])
gpu.module @exchange {
  gpu.func @exchange(%y: memref<4xbf16>) workgroup(%s: memref<16xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 3 : i64} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %v = memref.load %s[%c0] : memref<16xf32, #gpu.address_space<workgroup>>
    %r, %there = gpu.shuffle xor %v, %one, %width : f32
    gpu.barrier
    %lanes = arith.constant -1 : i32
    nvvm.bar.warp.sync %lanes : i32
    memref.store %r, %s[%c0] : memref<16xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    gpu.return
  }
}

// -----

// A wide access is told once, with the alignment that it promises; arithmetic on vectors is that of elements.
// CHECK-LABEL: llvm.func internal @wide.thread(
// CHECK: %[[BYTES:.+]] = arith.constant 16 : i64
// CHECK: %[[ALIGNMENT:.+]] = arith.constant 16 : i64
// CHECK: llvm.call @weft_emulator_access(%{{.+}}, %{{.+}}, %[[BYTES]], %[[ALIGNMENT]], %{{.+}})
// CHECK-COUNT-4: llvm.load
// CHECK-NOT: llvm.load %{{.+}} : !llvm.ptr -> f32
// CHECK-COUNT-4: math.exp %{{.+}} : f32
// CHECK-COUNT-4: llvm.store
gpu.module @wide {
  gpu.func @wide(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>, weft.grid = 1 : i64} {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %v = vector.load %x[%i] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32>
    %e = math.exp %v : vector<4xf32>
    vector.store %e, %x[%i] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32>
    gpu.return
  }
}

// -----

// Constants are the module's; views are places; numbers of the grid are known; an update is atomic to the emulator.
// CHECK: llvm.mlir.global internal constant @views.table(dense<[3, 1, 2]> : tensor<3xi32>)
// CHECK-LABEL: llvm.func internal @views.thread(
// CHECK: llvm.mlir.addressof @views.table
// CHECK: %[[ATOMIC:.+]] = arith.constant 2 : i32
// CHECK: llvm.call @weft_emulator_access({{.+}}, %[[ATOMIC]])
// CHECK: arith.addi
// CHECK: llvm.store
gpu.module @views {
  memref.global "private" constant @table : memref<3xi32> = dense<[3, 1, 2]>
  gpu.func @views(%x: memref<12xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 2 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %table = memref.get_global @table : memref<3xi32>
    %v = memref.load %table[%c1] : memref<3xi32>
    %rows = memref.expand_shape %x [[0, 1]] output_shape [3, 4] : memref<12xi32> into memref<3x4xi32>
    %b = gpu.block_id x
    %row = memref.subview %rows[%b, 0] [1, 4] [1, 1] : memref<3x4xi32> to memref<1x4xi32, strided<[4, 1], offset: ?>>
    %n = gpu.grid_dim x
    %old = memref.atomic_rmw addi %v, %row[%c0, %n] : (i32, memref<1x4xi32, strided<[4, 1], offset: ?>>) -> i32
    gpu.return
  }
}

// -----

// Two members with one argument and one result: a block of the second finds its buffers at 0 + 1 and 2 + 1, and the emulator is told of all
// four.
// CHECK: llvm.mlir.global internal constant @members.buffers(dense<[32, 4, 16, 32, 4, 16, 64, 4, 4, 64, 4, 4]> : tensor<12xi64>)
// CHECK-LABEL: llvm.func internal @members.thread(
// CHECK: %[[BLOCKS:.+]] = arith.constant 3 : i64
// CHECK: %[[MEMBER:.+]] = arith.divui %{{.+}}, %[[BLOCKS]] : i64
// CHECK: arith.addi
// CHECK: %[[RESULTS:.+]] = arith.constant 2 : i64
// CHECK: %[[OWN:.+]] = arith.addi %[[RESULTS]], %{{.+}} : i64
// CHECK: llvm.getelementptr %{{.+}}[%[[OWN]]]
gpu.module @members {
  gpu.func @members(%x: memref<8xf32> {llvm.align = 16 : i64}, %y: memref<16xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 6 : i64, weft.members = array<i64: 2, 1>} {
    gpu.return
  }
}
