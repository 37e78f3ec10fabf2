// RUN: weft-opt %s --rt-plan-arena | FileCheck %s

// States first, then ports, then activations; the third activation takes the
// bytes of the first, whose life is over.
// CHECK: rt.state @w {{.*}} offset 0
rt.state @w global tensor<20xf32> local memref<20xf32> placement <[20]> pieces []
// CHECK-LABEL: rt.program @reuse streams 1 events 0 arena 1152
rt.program @reuse streams 1 events 0 {
  // CHECK: rt.buffer "x" {{.*}}offset 128 lives [0, 3]
  %x = rt.buffer "x" input : memref<64xf32>
  // CHECK: rt.buffer "y" {{.*}}offset 384 lives [0, 3]
  %y = rt.buffer "y" output : memref<64xf32>
  // CHECK: rt.buffer "a" {{.*}}offset 640 lives [0, 1]
  %a = rt.buffer "a" activation : memref<64xf32>
  // CHECK: rt.buffer "b" {{.*}}offset 896 lives [1, 2]
  %b = rt.buffer "b" activation : memref<64xf32>
  // CHECK: rt.buffer "c" {{.*}}offset 640 lives [2, 3]
  %c = rt.buffer "c" activation : memref<64xf32>
  rt.copy %x -> %a stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %a -> %b stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %b -> %c stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %c -> %y stream 0 : memref<64xf32> -> memref<64xf32>
}

// While the other stream may still read %a, nothing takes its bytes.
// CHECK-LABEL: rt.program @other_stream
rt.program @other_stream streams 2 events 2 {
  %x = rt.buffer "x" input : memref<64xf32>
  // CHECK: rt.buffer "a" {{.*}}lives [0, 7]
  %a = rt.buffer "a" activation : memref<64xf32>
  // CHECK: rt.buffer "b" {{.*}}lives [1, 8]
  %b = rt.buffer "b" communication : memref<64xf32>
  %c = rt.buffer "c" activation : memref<64xf32>
  rt.copy %x -> %a stream 0 : memref<64xf32> -> memref<64xf32>
  rt.record 0 stream 0
  rt.wait 0 stream 1
  rt.copy %a -> %b stream 1 : memref<64xf32> -> memref<64xf32>
  rt.record 1 stream 1
  rt.copy %x -> %c stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %c -> %x stream 0 : memref<64xf32> -> memref<64xf32>
  rt.wait 1 stream 0
  rt.copy %b -> %x stream 0 : memref<64xf32> -> memref<64xf32>
}
