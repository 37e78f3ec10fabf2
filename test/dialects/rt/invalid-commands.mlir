// RUN: weft-opt %s --split-input-file --verify-diagnostics
// Each rule that a library call or collective keeps, broken once.

// expected-note @below {{it does not fit this}}
func.func private @k(tensor<4xf32>) -> tensor<4xf32>
rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4xf32>
  // expected-error @below {{has 2 inputs, but the kernel 1}}
  rt.launch @k reads(%0, %0 : memref<4xf32>, memref<4xf32>) writes(%0 : memref<4xf32>) stream 0
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4xf32>
  %1 = rt.buffer "c" output : memref<4x4xf32>
  // expected-error @below {{has operands of tensor ranks 1, 1 and 2, expected equal ones of 2 to 6}}
  rt.gemm %0, %0 -> %1 accumulate f32 stream 0 : memref<4xf32>, memref<4xf32> -> memref<4x4xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<2x4x4xf32>
  %1 = rt.buffer "c" output : memref<3x4x4xf32>
  // expected-error @below {{has batch sizes 2, 2 and 3 in dimension 0}}
  rt.gemm %0, %0 -> %1 accumulate f32 stream 0 : memref<2x4x4xf32>, memref<2x4x4xf32> -> memref<3x4x4xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4x4xf32>
  %1 = rt.buffer "s" input : memref<4x2xf32>
  // expected-error @below {{adds 'memref<4x2xf32>' to 'memref<4x4xf32>', expected equal sizes and elements of one type of floats}}
  rt.gemm %0, %0 -> %0 plus(%0, %1 : memref<4x4xf32>, memref<4x2xf32>) accumulate f32 stream 0 : memref<4x4xf32>, memref<4x4xf32> -> memref<4x4xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4x4xi32>
  // expected-error @below {{adds 'memref<4x4xi32>' to 'memref<4x4xi32>', expected equal sizes and elements of one type of floats}}
  rt.gemm %0, %0 -> %0 plus(%0 : memref<4x4xi32>) accumulate i32 stream 0 : memref<4x4xi32>, memref<4x4xi32> -> memref<4x4xi32>
}

// -----

rt.program @p streams 1 events 0 {
  %i = rt.buffer "i" input : memref<2x8xf32>
  %f = rt.buffer "f" input : memref<4x2x3xf32>
  %o = rt.buffer "o" output : memref<1x4x6xf32>
  // expected-error @below {{has operands of tensor ranks 2, 3 and 3, expected equal ones of 3 to 5}}
  rt.conv %i, %f -> %o strides [1] pads [0] dilations [1] input_dilations [1] groups 1 stream 0
    : memref<2x8xf32>, memref<4x2x3xf32> -> memref<1x4x6xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %i = rt.buffer "i" input : memref<1x2x8xf32>
  %f = rt.buffer "f" input : memref<4x2x3xf32>
  %o = rt.buffer "o" output : memref<1x4x6xf32>
  // expected-error @below {{has a list of 2 entries for 1 spatial dims}}
  rt.conv %i, %f -> %o strides [1] pads [0, 0] dilations [1] input_dilations [1] groups 1 stream 0
    : memref<1x2x8xf32>, memref<4x2x3xf32> -> memref<1x4x6xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %i = rt.buffer "i" input : memref<1x2x8xf32>
  %f = rt.buffer "f" input : memref<4x2x3xf32>
  %o = rt.buffer "o" output : memref<1x4x6xf32>
  // expected-error @below {{has a stride of 2 along spatial dim 0, in which its input is dilated}}
  rt.conv %i, %f -> %o strides [2] pads [0] dilations [1] input_dilations [2] groups 1 stream 0
    : memref<1x2x8xf32>, memref<4x2x3xf32> -> memref<1x4x6xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %i = rt.buffer "i" input : memref<1x2x8xf32>
  %f = rt.buffer "f" input : memref<4x2x3xf32>
  %o = rt.buffer "o" output : memref<1x4x6xf32>
  // expected-error @below {{has channels that do not fit 2 groups}}
  rt.conv %i, %f -> %o strides [1] pads [0] dilations [1] input_dilations [1] groups 2 stream 0
    : memref<1x2x8xf32>, memref<4x2x3xf32> -> memref<1x4x6xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %q = rt.buffer "q" input : memref<4x5x8xf32>
  // expected-error @below {{has an operand that is not of tensor rank 4}}
  rt.attention %q, %q, %q -> %q scale 0.5 stream 0 : memref<4x5x8xf32>, memref<4x5x8xf32>, memref<4x5x8xf32> -> memref<4x5x8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %q = rt.buffer "q" input : memref<1x4x5x8xf32>
  %k = rt.buffer "k" input : memref<1x3x7x8xf32>
  // expected-error @below {{has sizes that do not fit}}
  rt.attention %q, %k, %k -> %q scale 0.5 stream 0
    : memref<1x4x5x8xf32>, memref<1x3x7x8xf32>, memref<1x3x7x8xf32> -> memref<1x4x5x8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %q = rt.buffer "q" input : memref<1x4x5x8xf32>
  %k = rt.buffer "k" input : memref<1x2x7x8xf32>
  %m = rt.buffer "m" input : memref<1x4x5x8xf32>
  // expected-error @below {{has a mask of type 'memref<1x4x5x8xf32>', expected 1x4x5x7}}
  rt.attention %q, %k, %k -> %q mask(%m : memref<1x4x5x8xf32>) scale 0.5 stream 0
    : memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32> -> memref<1x4x5x8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %q = rt.buffer "q" input : memref<1x4x5x8xf32>
  %k = rt.buffer "k" input : memref<1x2x7x8xf32>
  // expected-error @below {{has a gradient of type 'memref<1x4x5x8xf32>' for 'memref<1x2x7x8xf32>'}}
  rt.attention_grad %q, %k, %k, %q, %q -> %q, %q, %k scale 0.5 stream 0
    : memref<1x4x5x8xf32>, memref<1x2x7x8xf32>, memref<1x2x7x8xf32>, memref<1x4x5x8xf32>, memref<1x4x5x8xf32>
    -> memref<1x4x5x8xf32>, memref<1x4x5x8xf32>, memref<1x2x7x8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %q = rt.buffer "q" input : memref<1x4x5x8xf32>
  %s = rt.buffer "s" output : memref<1x4x7xf32>
  // expected-error @below {{has logarithms of sums of type 'memref<1x4x7xf32>', expected one without gaps for each row of 'memref<1x4x5x8xf32>'}}
  rt.attention_with_sums %q, %q, %q -> %q, %s scale 0.5 stream 0
    : memref<1x4x5x8xf32>, memref<1x4x5x8xf32>, memref<1x4x5x8xf32> -> memref<1x4x5x8xf32>, memref<1x4x7xf32>
}

// -----

rt.mesh ["tp"] sizes [2]
rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<4xf32>
  // expected-error @below {{moves several tensors, which an all_to_all does not}}
  rt.collective all_to_all sum %0, %0 -> %0, %0 axes ["tp"] shape [1, 4, 1, 1, 1, 1, 4, 1, 1, 1] accumulate f32 stream 0
    : memref<4xf32>, memref<4xf32> -> memref<4xf32>, memref<4xf32>
}

// -----

rt.mesh ["tp"] sizes [2]
rt.program @p streams 1 events 0 {
  %0 = rt.buffer "a" input : memref<8xf32>
  %1 = rt.buffer "b" input : memref<4xf32>
  // expected-error @below {{needs a shape of three sizes: outer, extent, inner}}
  rt.slice %0 -> %1 axes ["tp"] shape [1, 8] stream 0 : memref<8xf32> -> memref<4xf32>
}

// -----

rt.program @r routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "w" workspace : memref<64xi8>
  %n = rt.buffer "n" workspace : memref<32xi8>
  %v = rt.view %x : memref<8xf32> to memref<8xf32, strided<[0]>>
  // expected-error @below {{invokes @p, which is no routine of this module}}
  rt.invoke @p reads() writes() stream 0
}

// -----

// expected-note @below {{it does not fit this}}
rt.program @r routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "w" workspace : memref<64xi8>
  %n = rt.buffer "n" workspace : memref<32xi8>
  %v = rt.view %x : memref<8xf32> to memref<8xf32, strided<[0]>>
  // expected-error @below {{has 1 inputs, but the routine 2}}
  rt.invoke @r reads(%x : memref<8xf32>) writes(%y, %s : memref<8xf32>, memref<8xf32>) scratch(%w : memref<64xi8>) stream 0
}

// -----

// expected-note @below {{it does not fit this}}
rt.program @r routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "w" workspace : memref<64xi8>
  %n = rt.buffer "n" workspace : memref<32xi8>
  %v = rt.view %x : memref<8xf32> to memref<8xf32, strided<[0]>>
  // expected-error @below {{has 1 outputs, but the routine 2}}
  rt.invoke @r reads(%x, %s : memref<8xf32>, memref<8xf32>) writes(%y : memref<8xf32>) scratch(%w : memref<64xi8>) stream 0
}

// -----

// expected-note @below {{it does not fit this}}
rt.program @r routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "w" workspace : memref<64xi8>
  %n = rt.buffer "n" workspace : memref<32xi8>
  %v = rt.view %x : memref<8xf32> to memref<8xf32, strided<[0]>>
  // expected-error @below {{input 0 is 'memref<8xf32, strided<[0]>>', expected a contiguous view of 'memref<8xf32>'}}
  rt.invoke @r reads(%v, %s : memref<8xf32, strided<[0]>>, memref<8xf32>) writes(%y, %s : memref<8xf32>, memref<8xf32>) scratch(%w : memref<64xi8>) stream 0
}

// -----

// expected-note @below {{it does not fit this}}
rt.program @r routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "w" workspace : memref<64xi8>
  %n = rt.buffer "n" workspace : memref<32xi8>
  %v = rt.view %x : memref<8xf32> to memref<8xf32, strided<[0]>>
  // expected-error @below {{does not overwrite input 1 with output 1, as its routine does}}
  rt.invoke @r reads(%x, %s : memref<8xf32>, memref<8xf32>) writes(%y, %y : memref<8xf32>, memref<8xf32>) scratch(%w : memref<64xi8>) stream 0
}

// -----

// expected-note @below {{it does not fit this}}
rt.program @r routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "w" workspace : memref<64xi8>
  %n = rt.buffer "n" workspace : memref<32xi8>
  %v = rt.view %x : memref<8xf32> to memref<8xf32, strided<[0]>>
  // expected-error @below {{has 0 bytes of scratch, expected a memref<64xi8>}}
  rt.invoke @r reads(%x, %s : memref<8xf32>, memref<8xf32>) writes(%y, %s : memref<8xf32>, memref<8xf32>) stream 0
}

// -----

// expected-note @below {{it does not fit this}}
rt.program @r routine [-1, 1] streams 1 events 0 arena 64 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  %w = rt.buffer "w" workspace : memref<64xi8>
  %n = rt.buffer "n" workspace : memref<32xi8>
  %v = rt.view %x : memref<8xf32> to memref<8xf32, strided<[0]>>
  // expected-error @below {{has 32 bytes of scratch, expected a memref<64xi8>}}
  rt.invoke @r reads(%x, %s : memref<8xf32>, memref<8xf32>) writes(%y, %s : memref<8xf32>, memref<8xf32>) scratch(%n : memref<32xi8>) stream 0
}

// -----

rt.program @p streams 1 events 0 {
  %i = rt.buffer "i" input : memref<4x1xi64>
  %u = rt.buffer "u" input : memref<3x8xf32>
  %t = rt.buffer "t" output : memref<100x8xf32>
  // expected-error @below {{failed to verify that updates have the sizes of the indices without the last, which is 1, and of a row of the result}}
  rt.scatter_add %i, %u -> %t stream 0 : memref<4x1xi64>, memref<3x8xf32> -> memref<100x8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %i = rt.buffer "i" input : memref<4x1xi64>
  %u = rt.buffer "u" input : memref<4x8xf64>
  %t = rt.buffer "t" output : memref<100x8xf32>
  // expected-error @below {{failed to verify that all of {updates, result} have same element type}}
  rt.scatter_add %i, %u -> %t stream 0 : memref<4x1xi64>, memref<4x8xf64> -> memref<100x8xf32>
}

// -----

rt.program @p streams 1 events 0 {
  %i = rt.buffer "i" input : memref<4x1xi64>
  %u = rt.buffer "u" input : memref<4x8xf32>
  %t = rt.buffer "t" output : memref<100x8xf32>
  %o = rt.buffer "o" input : memref<99x8xf32>
  // expected-error @below {{failed to verify that operand has the sizes and the element type of the result}}
  rt.scatter_add %i, %u -> %t operand(%o : memref<99x8xf32>) stream 0 : memref<4x1xi64>, memref<4x8xf32> -> memref<100x8xf32>
}

// -----

module attributes {weft.stage = 0 : i64} {
  rt.mesh ["pp"] sizes [2]
  rt.program @p streams 1 events 0 {
    %0 = rt.buffer "a" communication : memref<4xf32>
    // expected-error @below {{stands in a module whose mesh has no axis of stages}}
    rt.send %0 to 1 on "F0.x" stream 0 : memref<4xf32>
  }
}

// -----

module {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 1 events 0 {
    %0 = rt.buffer "a" communication : memref<4xf32>
    // expected-error @below {{stands in a module of no stage (attribute weft.stage)}}
    rt.recv -> %0 from 1 on "F0.x" stream 0 : memref<4xf32>
  }
}

// -----

module attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 1 events 0 {
    %0 = rt.buffer "a" communication : memref<4xf32>
    // expected-error @below {{is with stage 1, expected another one than its own, 1, of 2}}
    rt.send %0 to 1 on "F0.x" stream 0 : memref<4xf32>
  }
}

// -----

module attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 1 events 0 {
    %0 = rt.buffer "a" communication : memref<4xf32>
    // expected-error @below {{is with stage 2, expected another one than its own, 1, of 2}}
    rt.recv -> %0 from 2 on "F0.x" stream 0 : memref<4xf32>
  }
}

// -----

module attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 1 events 0 {
    %0 = rt.buffer "a" communication : memref<4xf32>
    // expected-error @below {{has a channel without a name}}
    rt.recv -> %0 from 0 on "" stream 0 : memref<4xf32>
  }
}

// -----

module attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p streams 1 events 0 {
    %0 = rt.buffer "a" communication : memref<4x4xf32>
    %1 = rt.view %0 : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
    // expected-error @below {{buffer is 'memref<4x2xf32, strided<[4, 1]>>', expected a contiguous view}}
    rt.send %1 to 0 on "F0.x" stream 0 : memref<4x2xf32, strided<[4, 1]>>
  }
}

// -----

module attributes {weft.stage = 1 : i64} {
  rt.mesh ["pp"] sizes [2] stages ["pp"]
  rt.program @p routine [] streams 1 events 0 {
  ^bb0(%0: memref<4xf32>):
    // expected-error @below {{stands in a routine, which has no states, ports, calls or transfers}}
    rt.send %0 to 0 on "F0.x" stream 0 : memref<4xf32>
  }
}

// -----

// expected-note @below {{it does not fit this}}
rt.program @r routine [-1, 1] streams 1 events 0 {
^bb0(%x: memref<8xf32>, %s: memref<8xf32>, %y: memref<8xf32>):
}
rt.program @p streams 1 events 0 {
  %x = rt.buffer "x" input : memref<8xf32>
  %s = rt.buffer "s" gradient : memref<8xf32>
  %y = rt.buffer "y" output : memref<8xf32>
  // expected-error @below {{leaves input 0 unset, which its routine does not overwrite}}
  rt.invoke @r reads(%x, %s : memref<8xf32>, memref<8xf32>) writes(%y, %s : memref<8xf32>, memref<8xf32>) unset [0] stream 0
}
