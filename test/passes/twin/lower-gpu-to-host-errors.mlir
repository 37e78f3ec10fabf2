// RUN: weft-opt %s --twin-lower-gpu-to-host --split-input-file --verify-diagnostics

gpu.module @bare {
  // expected-error @below {{has no 'weft.grid' or no 'known_block_size', which say how it is launched}}
  gpu.func @bare() kernel {
    gpu.return
  }
}

// -----

gpu.module @plane {
  // expected-error @below {{one dim of 1 to 1024 threads, and at least 0 blocks, are expected}}
  gpu.func @plane() kernel attributes {known_block_size = array<i32: 16, 16, 1>, weft.grid = 1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @dynamic {
  // expected-error @below {{has argument 0 of type 'memref<?xf32>'; dense memrefs of static shape are expected}}
  gpu.func @dynamic(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @long {
  gpu.func @long(%v: memref<1xf64>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %c0 = arith.constant 0 : index
    %x = memref.load %v[%c0] : memref<1xf64>
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    // expected-error @below {{exchanges 'f64'; lanes exchange f32 or i32}}
    %r, %there = gpu.shuffle xor %x, %one, %width : f64
    gpu.return
  }
}

// -----

gpu.module @group {
  gpu.func @group(%v: memref<1xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %c0 = arith.constant 0 : index
    %x = memref.load %v[%c0] : memref<1xf32>
    // expected-error @below {{is not among what the host's twin knows of the gpu dialect}}
    %r = gpu.subgroup_reduce add %x : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @heap {
  gpu.func @heap() kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    // expected-error @below {{is not among what the host's twin knows of memory}}
    %x = memref.alloc() : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @chosen {
  gpu.func @chosen(%x: memref<4xf32>, %y: memref<4xf32>, %which: memref<1xi8>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i8
    %w = memref.load %which[%c0] : memref<1xi8>
    %first = arith.cmpi eq, %w, %zero : i8
    %m = arith.select %first, %x, %y : memref<4xf32>
    // expected-error @below {{is of memory that the host's twin cannot follow: a memref of static shape and strides is expected, made by an argument, an allocation or a view of one}}
    %v = memref.load %m[%c0] : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @unread {
  gpu.func @unread(%x: memref<4xf32>, %y: memref<4xf32>, %first: memref<1xi1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %true = arith.constant true
    // expected-error @below {{uses memory in a way that the host's twin does not know}}
    %m = arith.select %true, %x, %y : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @own {
  // expected-error @below {{has private attributions; memref.alloca is expected}}
  gpu.func @own() private(%p: memref<4xf32, #gpu.address_space<private>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @tile {
  gpu.func @tile(%x: memref<2x2xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{where a vector of one dim of the memory's elements is expected}}
    %v = vector.load %x[%c0, %c0] : memref<2x2xf32>, vector<2x2xf32>
    gpu.return
  }
}

// -----

gpu.module @bytes {
  gpu.func @bytes(%x: memref<16xi8>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{is a view that the host's twin does not know}}
    %v = memref.view %x[%c0][] : memref<16xi8> to memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @twice {
  gpu.func @twice(%x: memref<16xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %part = memref.subview %x[4] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 4>>
    // expected-error @below {{is of a view, not of the memory itself}}
    %again = memref.reinterpret_cast %part to offset: [0], sizes: [4], strides: [1] : memref<8xf32, strided<[1], offset: 4>> to memref<4xf32, strided<[1]>>
    gpu.return
  }
}

// -----

gpu.module @members {
  // expected-error @below {{has 5 blocks for 2 members; as many for each are expected}}
  gpu.func @members(%x: memref<16xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 5 : i64, weft.members = array<i64: 2, 1>} {
    gpu.return
  }
}

// -----

gpu.module @some {
  gpu.func @some() kernel attributes {known_block_size = array<i32: 32, 1, 1>, weft.grid = 1 : i64} {
    %lanes = arith.constant 15 : i32
    // expected-error @below {{is not of all lanes (mask -1), which a barrier of a warp has to be}}
    nvvm.bar.warp.sync %lanes : i32
    gpu.return
  }
}
