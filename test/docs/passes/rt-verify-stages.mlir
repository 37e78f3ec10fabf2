// RUN: %doctest %s
// Each stage sends first, and waits until what it sends is received.
//--- before
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

