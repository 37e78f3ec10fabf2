// RUN: weft-opt %s --split-input-file --rt-assign-streams --rt-plan-arena | FileCheck %s

rt.mesh ["tp"] sizes [2]

// The reduction starts when its source is made, the copy overlaps with it, and
// the reader of its result waits.
// CHECK-LABEL: rt.program @overlap streams 2 events 2
// CHECK: rt.copy %[[X:.+]] -> %[[A:.+]] stream 0
// CHECK-NEXT: rt.record 0 stream 0
// CHECK-NEXT: rt.wait 0 stream 1
// CHECK-NEXT: rt.collective all_reduce sum %[[A]] -> %[[B:.+]] axes {{.*}} stream 1
// CHECK-NEXT: rt.record 1 stream 1
// CHECK-NEXT: rt.copy %[[X]] -> %[[C:.+]] stream 0
// CHECK-NEXT: rt.wait 1 stream 0
// CHECK-NEXT: rt.copy %[[B]] -> %{{.+}} stream 0
rt.program @overlap streams 1 events 0 {
  %x = rt.buffer "x" input : memref<64xf32>
  %y = rt.buffer "y" output : memref<64xf32>
  %a = rt.buffer "a" activation : memref<64xf32>
  %b = rt.buffer "b" communication : memref<64xf32>
  %c = rt.buffer "c" activation : memref<64xf32>
  rt.copy %x -> %a stream 0 : memref<64xf32> -> memref<64xf32>
  rt.collective all_reduce sum %a -> %b axes ["tp"] shape [1, 64, 1, 1, 1] accumulate f32 stream 0
    : memref<64xf32> -> memref<64xf32>
  rt.copy %x -> %c stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %b -> %y stream 0 : memref<64xf32> -> memref<64xf32>
}

// Without communication nothing changes.
// CHECK-LABEL: rt.program @alone streams 1 events 0
rt.program @alone streams 1 events 0 {
  %x = rt.buffer "x" input : memref<64xf32>
  %y = rt.buffer "y" output : memref<64xf32>
  rt.copy %x -> %y stream 0 : memref<64xf32> -> memref<64xf32>
}

// -----

// Transfers have a stream of their own. What was received is gathered on the other one: an event
// between the two orders them, without stream 0, which waits for the gathered value alone. A send
// starts when its source is made; nothing waits for its end.
module attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp", "tp"] sizes [2, 2] stages ["pp"]
  // CHECK-LABEL: rt.program @stage streams 3 events 3
  // CHECK: rt.recv -> %[[P:.+]] from 0 on "F1.x" stream 2
  // CHECK-NEXT: rt.record 0 stream 2
  // CHECK-NEXT: rt.wait 0 stream 1
  // CHECK-NEXT: rt.collective all_gather sum %[[P]] -> %[[X:.+]] axes {{.*}} stream 1
  // CHECK-NEXT: rt.record 1 stream 1
  // CHECK-NEXT: rt.wait 1 stream 0
  // CHECK-NEXT: rt.copy %[[X]] -> %[[Y:.+]] stream 0
  // CHECK-NEXT: rt.record 2 stream 0
  // CHECK-NEXT: rt.wait 2 stream 2
  // CHECK-NEXT: rt.send %[[Y]] to 0 on "B1.x" stream 2
  // CHECK-NEXT: rt.copy %[[X]] -> %{{.+}} stream 0
  rt.program @stage streams 1 events 0 {
    %p = rt.buffer "p" communication : memref<32xf32>
    %x = rt.buffer "x" communication : memref<64xf32>
    %y = rt.buffer "y" activation : memref<64xf32>
    %z = rt.buffer "z" activation : memref<64xf32>
    rt.recv -> %p from 0 on "F1.x" stream 0 : memref<32xf32>
    rt.collective all_gather sum %p -> %x axes ["tp"] shape [1, 64, 1, 1, 1] accumulate f32 stream 0
      : memref<32xf32> -> memref<64xf32>
    rt.copy %x -> %y stream 0 : memref<64xf32> -> memref<64xf32>
    rt.send %y to 0 on "B1.x" stream 0 : memref<64xf32>
    rt.copy %x -> %z stream 0 : memref<64xf32> -> memref<64xf32>
  }
}
