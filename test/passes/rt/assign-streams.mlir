// RUN: weft-opt %s --rt-assign-streams --rt-plan-arena | FileCheck %s

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
