// RUN: weft-opt %s --split-input-file --rt-verify-stages --verify-diagnostics | FileCheck %s

// There and back: both stages list the two exchanges in one order.
// CHECK: rt.send
module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    rt.send %0 to 1 on "x" stream 2 : memref<4xf32>
    rt.recv -> %1 from 1 on "y" stream 2 : memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    rt.recv -> %0 from 0 on "x" stream 2 : memref<4xf32>
    rt.send %0 to 0 on "y" stream 2 : memref<4xf32>
  }
}
}

// -----

// Each sends first, and waits until it is received.
module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{waits forever in stage 0: stages wait for each other in a circle}}
    rt.send %0 to 1 on "x" stream 2 : memref<4xf32>
    rt.recv -> %1 from 1 on "y" stream 2 : memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{waits forever in stage 1: stages wait for each other in a circle}}
    rt.send %0 to 0 on "y" stream 2 : memref<4xf32>
    rt.recv -> %1 from 0 on "x" stream 2 : memref<4xf32>
  }
}
}

// -----

module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    rt.send %0 to 1 on "x" stream 2 : memref<4xf32>
    // expected-error @below {{has no other end: stage 0 sends 2 values to stage 1, which receives 1}}
    rt.send %0 to 1 on "y" stream 2 : memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    rt.recv -> %0 from 0 on "x" stream 2 : memref<4xf32>
  }
}
}

// -----

module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{has no other end: stage 0 sends 0 values to stage 1, which receives 1}}
    rt.recv -> %0 from 0 on "x" stream 2 : memref<4xf32>
  }
}
}

// -----

module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{sends 'memref<4xf32>' on "x", its other end receives 'memref<4xf32>' on "y"}}
    rt.send %0 to 1 on "x" stream 2 : memref<4xf32>
    rt.send %1 to 1 on "y" stream 2 : memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-note @below {{this is the other end}}
    rt.recv -> %0 from 0 on "y" stream 2 : memref<4xf32>
    rt.recv -> %1 from 0 on "x" stream 2 : memref<4xf32>
  }
}
}

// -----

module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-note @below {{which is this}}
    rt.collective all_reduce sum %0 -> %0 axes ["pp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 1 : memref<4xf32> -> memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{is not what the first stage does at its place}}
    rt.collective all_reduce max %0 -> %0 axes ["pp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 1 : memref<4xf32> -> memref<4xf32>
  }
}
}

// -----

module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{is not done by all stages: one does 0 collectives over these axes, another 1}}
    rt.collective all_reduce sum %0 -> %0 axes ["pp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 1 : memref<4xf32> -> memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
  }
}
}

// -----

// A sum of all stages on one stream and a send on another: the first stage sends when the sum is there, the second one
// adds up when it has received.
module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{waits forever in stage 0}}
    rt.collective all_reduce sum %0 -> %0 axes ["pp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 1 : memref<4xf32> -> memref<4xf32>
    rt.record 0 stream 1
    rt.wait 0 stream 2
    rt.send %0 to 1 on "x" stream 2 : memref<4xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 3 events 2 {
    %0 = rt.buffer "a" workspace : memref<4xf32>
    %1 = rt.buffer "b" workspace : memref<4xf32>
    // expected-error @below {{waits forever in stage 1}}
    rt.recv -> %1 from 0 on "x" stream 2 : memref<4xf32>
    rt.record 0 stream 2
    rt.wait 0 stream 1
    rt.collective all_reduce sum %0 -> %0 axes ["pp"] shape [1, 4, 1, 1, 1] accumulate f32 stream 1 : memref<4xf32> -> memref<4xf32>
  }
}
}

// -----

module {
module @stage0 attributes {weft.stage = 0 : i64} {
  // expected-error @below {{is a program of 1 of 2 stages; all have the same programs}}
  rt.program @p streams 1 events 0 {
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
}
}

// -----

// The same place, kind and shape, but other numbers.
module {
module @stage0 attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 2 events 0 {
    %0 = rt.buffer "a" workspace : memref<8xf32>
    // expected-note @below {{which is this}}
    rt.collective all_reduce sum %0 -> %0 axes ["pp"] shape [1, 8, 1, 1, 1] accumulate f32 stream 1 : memref<8xf32> -> memref<8xf32>
  }
}
module @stage1 attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 2 events 0 {
    %0 = rt.buffer "a" workspace : memref<8xi32>
    // expected-error @below {{is not what the first stage does at its place}}
    rt.collective all_reduce sum %0 -> %0 axes ["pp"] shape [1, 8, 1, 1, 1] accumulate i32 stream 1 : memref<8xi32> -> memref<8xi32>
  }
}
}
