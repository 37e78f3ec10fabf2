// RUN: weft-opt %s --split-input-file --rt-verify-commands --verify-diagnostics
// What the list of commands, its memory and its order break; each once. In the function every value is a copy of the one before.

// expected-error @below {{names no function that it computes (attribute rt.spec)}}
rt.program @p streams 1 events 0 arena 512 {
}

// -----

// expected-error @below {{has no input for argument 0 of @p.spec}}
rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
}
func.func private @p.spec(%x: tensor<64xf32>) attributes {rt.spec} {
  return
}

// -----

rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  // expected-error @below {{is the input of no argument of @p.spec}}
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec() attributes {rt.spec} {
  return
}

// -----

// expected-error @below {{has 0 outputs, but @p.spec returns 1}}
rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %a = rt.buffer "a" output offset 512 lives [0, 1] : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  // expected-error @below {{output "y" is not written, or overwritten, when the program ends}}
  rt.output "y" %a global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  // expected-note @below {{this is what it returns}}
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  // expected-error @below {{belongs to no op of @p.spec}}
  rt.copy %x -> %y stream 0 : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  // expected-error @below {{is not what its op asks for}}
  rt.launch @k reads(%x : memref<64xf32>) writes(%y : memref<64xf32>) stream 0 {rt.origin = 0 : i64}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  // expected-note @below {{this op: expected rt.copy with 2 operands and {}}}
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  return %x : tensor<64xf32>
}

// -----

rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  // expected-error @below {{has no offset or lifetime}}
  %y = rt.buffer "y" output offset 256 : memref<64xf32>
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  // expected-error @below {{lives from command 0 to 0, but is in use from 0 to 1}}
  %a = rt.buffer "a" activation offset 512 lives [0, 0] : memref<64xf32>
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  rt.copy %a -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

rt.program @p streams 1 events 0 arena 256 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  // expected-error @below {{occupies bytes 256 to 512, outside of the arena or inside of states}}
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  // expected-error @below {{runs on stream 1 of 1}}
  rt.copy %x -> %y stream 1 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Two results of a kernel in one place.
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  // expected-error @below {{writes the same bytes twice}}
  rt.launch @k reads(%x : memref<64xf32>) writes(%y, %y : memref<64xf32>, memref<64xf32>) stream 0 {rt.origin = 0 : i64}
  // expected-error @below {{output "y" is not written, or overwritten, when the program ends}}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {rt.spec} {
  // expected-note @below {{this is what it returns}}
  %0:2 = rt.call @k(%x) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %0#0, %0#1 : tensor<64xf32>, tensor<64xf32>
}
func.func private @k(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  return %x, %x : tensor<64xf32>, tensor<64xf32>
}

// -----

// The kernel overwrites its argument, but is launched on two buffers.
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  // expected-error @below {{does not overwrite argument 0 with result 0, as what it runs does}}
  rt.launch @k reads(%x : memref<64xf32>) writes(%y : memref<64xf32>) stream 0 {rt.origin = 0 : i64}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.call @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
// expected-note @below {{it does not fit this}}
func.func private @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.in_place = array<i64: 0>} {
  %0 = nn.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Rows are put where the others are.
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<1x2x2xf32>
  rt.input "x" %x global tensor<1x2x2xf32> placement <[1], [2], [2]> : memref<1x2x2xf32>
  %a = rt.buffer "a" activation offset 512 lives [0, 1] : memref<4x2xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<4x2xf32>
  %0 = rt.view %a : memref<4x2xf32> to memref<1x2x2xf32>
  rt.copy %x -> %0 stream 0 {rt.origin = 0 : i64} : memref<1x2x2xf32> -> memref<1x2x2xf32>
  %1 = rt.view %y : memref<4x2xf32> to memref<1x2x2xf32, strided<[4, 2, 1], offset: 4>>
  // expected-error @below {{puts rows into a buffer that does not hold the others: never written, or overwritten since}}
  rt.copy %x -> %1 stream 0 {rt.origin = 1 : i64} : memref<1x2x2xf32> -> memref<1x2x2xf32, strided<[4, 2, 1], offset: 4>>
  rt.output "y" %y global tensor<4x2xf32> placement <[4], [2]> : memref<4x2xf32>
}
func.func private @p.spec(%x: tensor<1x2x2xf32> {nn.name = "x"}) -> tensor<4x2xf32> attributes {rt.spec} {
  %0 = rt.put %x at 0 : (tensor<1x2x2xf32>) -> tensor<4x2xf32>
  %1 = rt.put %x at 2 into %0 : (tensor<1x2x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// So does a call that writes its rows in place.
rt.program @copy routine [-1] streams 1 events 0 arena 0 attributes {rt.spec = @copy.spec} {
^bb0(%x: memref<2x2xf32>, %y: memref<2x2xf32>):
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<2x2xf32> -> memref<2x2xf32>
}
func.func private @copy.spec(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {rt.routine, rt.spec} {
  %0 = rt.dense %x : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
rt.program @p streams 1 events 0 arena 1024 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<2x2xf32>
  rt.input "x" %x global tensor<2x2xf32> placement <[2], [2]> : memref<2x2xf32>
  %a = rt.buffer "a" activation offset 512 lives [0, 1] : memref<4x2xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<4x2xf32>
  %0 = rt.view %a : memref<4x2xf32> to memref<2x2xf32>
  rt.invoke @copy reads(%x : memref<2x2xf32>) writes(%0 : memref<2x2xf32>) stream 0 {rt.origin = 0 : i64}
  %1 = rt.view %y : memref<4x2xf32> to memref<2x2xf32, strided<[2, 1], offset: 4>>
  // expected-error @below {{puts rows into a buffer that does not hold the others: never written, or overwritten since}}
  rt.invoke @copy reads(%x : memref<2x2xf32>) writes(%1 : memref<2x2xf32, strided<[2, 1], offset: 4>>) stream 0 {rt.origin = 3 : i64}
  rt.output "y" %y global tensor<4x2xf32> placement <[4], [2]> : memref<4x2xf32>
}
func.func private @p.spec(%x: tensor<2x2xf32> {nn.name = "x"}) -> tensor<4x2xf32> attributes {rt.spec} {
  %0 = rt.call @copy(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = nn.reshape %0 : tensor<2x2xf32> -> tensor<1x2x2xf32>
  %2 = rt.put %1 at 0 {rt.placed} : (tensor<1x2x2xf32>) -> tensor<4x2xf32>
  %3 = rt.call @copy(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = nn.reshape %3 : tensor<2x2xf32> -> tensor<1x2x2xf32>
  %5 = rt.put %4 at 2 into %2 {rt.placed} : (tensor<1x2x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %5 : tensor<4x2xf32>
}

// -----

// Kernels of a GPU, also those of routines, read 16 bytes at a time.
module attributes {weft.target = "cuda"} {
rt.program @copy routine [-1] streams 1 events 0 arena 0 attributes {rt.spec = @copy.spec} {
^bb0(%x: memref<2xf32>, %y: memref<2xf32>):
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<2xf32> -> memref<2xf32>
}
func.func private @copy.spec(%x: tensor<2xf32>) -> tensor<2xf32> attributes {rt.routine, rt.spec} {
  %0 = rt.dense %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 0] : memref<4xf32>
  rt.input "x" %x global tensor<4xf32> placement <[4]> : memref<4xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 0] : memref<2xf32>
  %0 = rt.view %x : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
  // expected-error @below {{gives operand 0 at byte 8 of its buffer, which is no multiple of the 16 that kernels of the target start at}}
  rt.invoke @copy reads(%0 : memref<2xf32, strided<[1], offset: 2>>) writes(%y : memref<2xf32>) stream 0 {rt.origin = 1 : i64}
  rt.output "y" %y global tensor<2xf32> placement <[2]> : memref<2xf32>
}
func.func private @p.spec(%x: tensor<4xf32> {nn.name = "x"}) -> tensor<2xf32> attributes {rt.spec} {
  %0 = nn.slice %x starts = [2] strides = [1] : tensor<4xf32> -> tensor<2xf32>
  %1 = rt.call @copy(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
}

// -----

// Ranks communicate in one order, whatever the stream.
#mesh = #dist.mesh<["dp"=2]>
!due = tensor<64xf32, #dist.local<#mesh, [64], partial = sum["dp"]>>
!sum = tensor<64xf32, #dist.local<#mesh, [64]>>
rt.mesh ["dp"] sizes [2]
rt.program @p streams 2 events 0 arena 1024 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %g = rt.buffer "g" input offset 256 lives [0, 1] : memref<64xf32>
  rt.input "g" %g global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 512 lives [0, 1] : memref<64xf32>
  %z = rt.buffer "z" output offset 768 lives [0, 1] : memref<64xf32>
  rt.collective all_reduce sum %x -> %y axes ["dp"] shape [1, 64, 1, 1, 1] accumulate f32 stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  // expected-error @below {{is not ordered with the communication before it}}
  rt.collective all_reduce sum %g -> %z axes ["dp"] shape [1, 64, 1, 1, 1] accumulate f32 stream 1 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %z global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: !due {nn.name = "x"}, %g: !due {nn.name = "g"}) -> (!sum {nn.name = "y"}, !sum {nn.name = "z"}) attributes {rt.spec} {
  %0 = dist.all_reduce %x ["dp"] accumulate f32 : !due -> !sum
  %1 = dist.all_reduce %g ["dp"] accumulate f32 : !due -> !sum
  return %0, %1 : !sum, !sum
}
