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

// The largest first would lose a fourth of %p's bytes between %r and %q, so that %s did not fit: 256 more. Placed by bytes and life,
// buffers take no more than what is alive.
// CHECK-LABEL: rt.program @orders streams 1 events 0 arena 4736
rt.program @orders streams 1 events 0 {
  %x = rt.buffer "x" input : memref<256xf32>
  %y = rt.buffer "y" input : memref<192xf32>
  %z = rt.buffer "z" input : memref<128xf32>
  %p = rt.buffer "p" activation : memref<256xf32>
  %q = rt.buffer "q" activation : memref<256xf32>
  %r = rt.buffer "r" activation : memref<192xf32>
  %s = rt.buffer "s" activation : memref<128xf32>
  rt.copy %p -> %q stream 0 : memref<256xf32> -> memref<256xf32>
  rt.copy %y -> %r stream 0 : memref<192xf32> -> memref<192xf32>
  rt.copy %z -> %s stream 0 : memref<128xf32> -> memref<128xf32>
  rt.copy %q -> %x stream 0 : memref<256xf32> -> memref<256xf32>
  rt.copy %r -> %y stream 0 : memref<192xf32> -> memref<192xf32>
  rt.copy %s -> %z stream 0 : memref<128xf32> -> memref<128xf32>
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

// A routine's buffers have the same bytes in each call. When the routine has read %a nobody needs it, so that "v", of which the
// first byte is that of the scratch, lies there; %c lies where "u" was.
// CHECK-LABEL: rt.program @block routine [-1] streams 1 events 0 arena 512
rt.program @block routine [-1] streams 1 events 0 {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  // CHECK: rt.buffer "u" {{.*}}offset 256 lives [0, 1]
  %u = rt.buffer "u" activation : memref<64xf32>
  // CHECK: rt.buffer "v" {{.*}}offset 0 lives [1, 2]
  %v = rt.buffer "v" activation : memref<64xf32>
  rt.copy %x -> %u stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %u -> %v stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %v -> %y stream 0 : memref<64xf32> -> memref<64xf32>
}
// CHECK-LABEL: rt.program @calls streams 1 events 0 arena 1408
rt.program @calls streams 1 events 0 {
  %x = rt.buffer "x" input : memref<64xf32>
  // CHECK: rt.buffer "k" {{.*}}offset 384 lives [0, 9]
  %k = rt.buffer "k" activation : memref<64xf32>
  // CHECK: rt.buffer "a" {{.*}}offset 640 lives [1, 2]
  %a = rt.buffer "a" activation : memref<64xf32>
  // CHECK: rt.buffer "b" {{.*}}offset 1152 lives [4, 5]
  %b = rt.buffer "b" activation : memref<64xf32>
  // CHECK: rt.buffer "c" {{.*}}offset 896 lives [7, 8]
  %c = rt.buffer "c" activation : memref<64xf32>
  rt.copy %x -> %k stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %k -> %a stream 0 : memref<64xf32> -> memref<64xf32>
  // CHECK: %[[W:.+]] = rt.buffer "block" {{ *}}workspace offset 640 lives [2, 4] : memref<512xi8>
  // CHECK-NEXT: rt.invoke @block {{.*}} scratch(%[[W]]
  rt.invoke @block reads(%a : memref<64xf32>) writes(%b : memref<64xf32>) stream 0
  // CHECK: rt.buffer "block" {{ *}}workspace offset 640 lives [5, 7] : memref<512xi8>
  rt.invoke @block reads(%b : memref<64xf32>) writes(%c : memref<64xf32>) stream 0
  rt.copy %c -> %x stream 0 : memref<64xf32> -> memref<64xf32>
  rt.copy %k -> %x stream 0 : memref<64xf32> -> memref<64xf32>
}
