// RUN: weft-opt %s --split-input-file --rt-verify-commands --verify-diagnostics

// What the pipeline emits is accepted.
rt.program @good streams 1 events 0 arena 768 attributes {rt.spec = @good.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %a = rt.buffer "a" activation offset 512 lives [0, 1] : memref<64xf32>
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  rt.copy %a -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @good.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// A dropped command leaves its op undone and its readers without a value.
// expected-error @below {{no command does op 0 of @p.spec}}
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %a = rt.buffer "a" activation offset 512 lives [0, 1] : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  // expected-error @below {{reads operand 0, whose buffer does not hold the value: never written, or overwritten since}}
  rt.copy %a -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  // expected-note @below {{this op: rt.dense}}
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// A view of the wrong half is not what the op asks for.
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 0] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 0] : memref<32xf32>
  %v = rt.view %x : memref<64xf32> to memref<32xf32, strided<[1], offset: 16>>
  // expected-error @below {{has view 'memref<32xf32, strided<[1], offset: 16>>' of 'memref<64xf32>' as operand 0, expected 'memref<32xf32, strided<[1], offset: 32>>' of 'memref<64xf32>'}}
  rt.copy %v -> %y stream 0 {rt.origin = 1 : i64} : memref<32xf32, strided<[1], offset: 16>> -> memref<32xf32>
  rt.output "y" %y global tensor<32xf32> placement <[32]> : memref<32xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<32xf32> attributes {rt.spec} {
  %0 = nn.slice %x starts = [32] strides = [1] : tensor<64xf32> -> tensor<32xf32>
  %1 = rt.dense %0 : tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

// Buffers alive together share no bytes.
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  // expected-note @below {{the other buffer is "x"}}
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  // expected-error @below {{shares bytes with a buffer that is alive at the same time}}
  %a = rt.buffer "a" activation offset 128 lives [0, 1] : memref<64xf32>
  // expected-error @below {{writes bytes that it reads}}
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  %y = rt.buffer "y" output offset 512 lives [0, 1] : memref<64xf32>
  rt.copy %a -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// Without the wait the second stream may read before the first has written.
rt.program @p streams 2 events 1 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 2] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %a = rt.buffer "a" activation offset 512 lives [0, 2] : memref<64xf32>
  // expected-note @below {{this command: rt.copy}}
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.record 0 stream 0
  %y = rt.buffer "y" output offset 256 lives [0, 2] : memref<64xf32>
  // expected-error @below {{is not ordered with a command of stream 0 that uses the same bytes}}
  rt.copy %a -> %y stream 1 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// A wait for an event that nobody recorded before it.
rt.program @p streams 2 events 1 arena 512 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  // expected-error @below {{waits for event 0, which is not recorded before}}
  rt.wait 0 stream 1
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A doubled command.
rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 1] : memref<64xf32>
  // expected-note @below {{this does it first}}
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  // expected-error @below {{does op 0 of @p.spec a second time}}
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A state is overwritten in place by a pointwise kernel and holds its new value.
rt.state @w global tensor<64xf32> local memref<64xf32> placement <[64]> pieces [] offset 0
rt.program @good streams 1 events 0 arena 512 attributes {rt.spec = @good.spec} {
  %g = rt.buffer "g" input offset 256 lives [0, 0] : memref<64xf32>
  rt.input "g" %g global tensor<64xf32> placement <[64]> : memref<64xf32>
  %w = rt.state_buffer @w : memref<64xf32>
  rt.launch @k reads(%w, %g : memref<64xf32>, memref<64xf32>) writes(%w : memref<64xf32>) stream 0 {rt.origin = 0 : i64}
}
func.func private @good.spec(%w: tensor<64xf32> {nn.name = "w", nn.initial = 0.0 : f32}, %g: tensor<64xf32> {nn.name = "g"})
    -> (tensor<64xf32> {nn.updates = "w"}) attributes {rt.spec} {
  %0 = rt.call @k(%w, %g) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @k(%w: tensor<64xf32>, %g: tensor<64xf32>) -> tensor<64xf32> attributes {rt.kernel, rt.in_place = array<i64: 0>} {
  %0 = nn.sub %w, %g : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A kernel that reads other indices than it writes may not overwrite.
rt.state @w global tensor<8x8xf32> local memref<8x8xf32> placement <[8], [8]> pieces [] offset 0
rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
  %w = rt.state_buffer @w : memref<8x8xf32>
  // expected-error @below {{runs a kernel that may not overwrite argument 0 with result 0}}
  rt.launch @k reads(%w : memref<8x8xf32>) writes(%w : memref<8x8xf32>) stream 0 {rt.origin = 0 : i64}
}
func.func private @p.spec(%w: tensor<8x8xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<8x8xf32> {nn.updates = "w"}) attributes {rt.spec} {
  %0 = rt.call @k(%w) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// expected-note @below {{it does not fit this}}
func.func private @k(%w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {rt.kernel, rt.in_place = array<i64: 0>} {
  %0 = nn.softmax %w dim = 1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// A state overwritten before its last reader, and one that loses its value.
rt.state @w global tensor<64xf32> local memref<64xf32> placement <[64]> pieces [] offset 0
// expected-note @below {{the state is here}}
rt.state @v global tensor<64xf32> local memref<64xf32> placement <[64]> pieces [] offset 256
// expected-error @below {{does not leave the old value in state "v"}}
rt.program @p streams 1 events 0 arena 1024 attributes {rt.spec = @p.spec} {
  %g = rt.buffer "g" input offset 512 lives [0, 1] : memref<64xf32>
  rt.input "g" %g global tensor<64xf32> placement <[64]> : memref<64xf32>
  %w = rt.state_buffer @w : memref<64xf32>
  %v = rt.state_buffer @v : memref<64xf32>
  rt.copy %g -> %w stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  // expected-error @below {{reads operand 0, whose buffer does not hold the value: never written, or overwritten since}}
  rt.copy %w -> %v stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %v global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%w: tensor<64xf32> {nn.name = "w", nn.initial = 0.0 : f32}, %g: tensor<64xf32> {nn.name = "g"})
    -> (tensor<64xf32> {nn.name = "y"}, tensor<64xf32> {nn.updates = "w"}) attributes {rt.spec} {
  %0 = rt.dense %w : tensor<64xf32>
  %1 = rt.dense %g : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// A constant may have the numbers of the devices on an axis, or a weight's bytes: it is in its own buffer.
module attributes {dist.mesh = #dist.mesh<["tp"=2]>} {
rt.mesh ["tp"] sizes [2]
rt.state @w global tensor<2xi64> local memref<2xi64> placement <[2]> pieces [#rt.piece<type = tensor<2xi64>, data = dense<[0, 1]> : tensor<2xi64>>] offset 0
rt.state @constant.0 class workspace global tensor<2xi64> local memref<2xi64> placement <[2]> pieces [#rt.piece<type = tensor<2xi64>, data = dense<[0, 1]> : tensor<2xi64>>] offset 64
rt.state @coordinate.tp class workspace global tensor<2xi64> local memref<1xi64> placement <[2:"tp"]> pieces [#rt.piece<type = tensor<2xi64>, data = dense<[0, 1]> : tensor<2xi64>>] offset 128
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %c = rt.state_buffer @constant.0 : memref<2xi64>
  %y = rt.buffer "y" output offset 256 lives [0, 0] : memref<2xi64>
  rt.copy %c -> %y stream 0 {rt.origin = 1 : i64} : memref<2xi64> -> memref<2xi64>
  rt.output "y" %y global tensor<2xi64> placement <[2]> : memref<2xi64>
}
func.func private @p.spec() -> tensor<2xi64> attributes {rt.spec} {
  %0 = nn.constant dense<[0, 1]> : tensor<2xi64> : tensor<2xi64>
  %1 = rt.dense %0 : tensor<2xi64>
  return %1 : tensor<2xi64>
}
}

// -----

// A routine is judged once, against its function; a call of it is one command, which overwrites what it says. Lives
// count the commands that it stands for.
rt.program @r routine [-1, 1] streams 1 events 0 arena 256 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>, %s: memref<64xf32>, %y: memref<64xf32>):
  %a = rt.buffer "a" activation offset 0 lives [0, 2] : memref<64xf32>
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %a -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.launch @k reads(%s, %a : memref<64xf32>, memref<64xf32>) writes(%s : memref<64xf32>) stream 0 {rt.origin = 2 : i64}
}
func.func private @r.spec(%x: tensor<64xf32>, %s: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {rt.spec, rt.routine, rt.in_place = array<i64: -1, 1>} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  %2 = rt.call @k(%s, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}
func.func private @k(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> attributes {rt.kernel, rt.in_place = array<i64: 0>} {
  %0 = nn.add %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
rt.state @s global tensor<64xf32> local memref<64xf32> placement <[64]> pieces [] offset 0
rt.program @p streams 1 events 0 arena 1280 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 256 lives [0, 5] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %s = rt.state_buffer @s : memref<64xf32>
  %y = rt.buffer "y" output offset 512 lives [0, 5] : memref<64xf32>
  %m = rt.buffer "m" activation offset 768 lives [1, 3] : memref<64xf32>
  %w = rt.buffer "r" workspace offset 1024 lives [0, 5] : memref<256xi8>
  rt.invoke @r reads(%x, %s : memref<64xf32>, memref<64xf32>) writes(%m, %s : memref<64xf32>, memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {label = "0", rt.origin = 0 : i64}
  rt.invoke @r reads(%m, %s : memref<64xf32>, memref<64xf32>) writes(%y, %s : memref<64xf32>, memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {label = "1", rt.origin = 1 : i64}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32> {nn.name = "x"}, %s: tensor<64xf32> {nn.name = "s", nn.initial = 0.0 : f32})
    -> (tensor<64xf32> {nn.name = "y"}, tensor<64xf32> {nn.updates = "s"}) attributes {rt.spec} {
  %0:2 = rt.call @r(%x, %s) {label = "0"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %1:2 = rt.call @r(%0#0, %0#1) {label = "1"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %1#0, %1#1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Bytes are shared within a call as if it were written out: %n lies where %m was, of which the routine has read all before
// it writes there, and %k lies beside the routine's buffers in the midst of its scratch.
rt.program @r routine [-1] streams 1 events 0 arena 768 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  %a = rt.buffer "a" activation offset 0 lives [0, 1] : memref<64xf32>
  %b = rt.buffer "b" activation offset 512 lives [1, 2] : memref<64xf32>
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %a -> %b stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %b -> %y stream 0 {rt.origin = 2 : i64} : memref<64xf32> -> memref<64xf32>
}
func.func private @r.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec, rt.routine} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  %2 = rt.dense %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
rt.program @p streams 1 events 0 arena 1792 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 8] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 8] : memref<64xf32>
  %z = rt.buffer "z" output offset 512 lives [0, 8] : memref<64xf32>
  %k = rt.buffer "k" activation offset 1280 lives [0, 7] : memref<64xf32>
  %m = rt.buffer "m" activation offset 768 lives [1, 2] : memref<64xf32>
  %n = rt.buffer "n" activation offset 768 lives [4, 8] : memref<64xf32>
  %w = rt.buffer "r" workspace offset 1024 lives [2, 4] : memref<768xi8>
  rt.copy %x -> %k stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %k -> %m stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.invoke @r reads(%m : memref<64xf32>) writes(%n : memref<64xf32>) scratch(%w : memref<768xi8>) stream 0 {label = "0", rt.origin = 2 : i64}
  rt.copy %k -> %y stream 0 {rt.origin = 3 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %n -> %z stream 0 {rt.origin = 4 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %z global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32> {nn.name = "x"}) -> (tensor<64xf32> {nn.name = "y"}, tensor<64xf32> {nn.name = "z"})
    attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  %2 = rt.call @r(%1) {label = "0"} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = rt.dense %0 : tensor<64xf32>
  %4 = rt.dense %2 : tensor<64xf32>
  return %3, %4 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Where the routine still reads the argument when it writes its buffer or its result, they may not lie there; nor may what
// is used on lie where a routine has a buffer. Two blocks that are one buffer are never one after the other.
rt.program @r routine [-1] streams 1 events 0 arena 256 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  %a = rt.buffer "a" activation offset 0 lives [0, 1] : memref<64xf32>
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.launch @k reads(%a, %x : memref<64xf32>, memref<64xf32>) writes(%y : memref<64xf32>) stream 0 {rt.origin = 1 : i64}
}
func.func private @r.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec, rt.routine} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.call @k(%0, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
func.func private @k(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> attributes {rt.kernel} {
  %0 = nn.add %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32> {nn.name = "x"}) -> (tensor<64xf32> {nn.name = "y"}, tensor<64xf32> {nn.name = "z"})
    attributes {rt.spec} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  %2 = rt.call @r(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = rt.dense %0 : tensor<64xf32>
  %4 = rt.dense %2 : tensor<64xf32>
  return %3, %4 : tensor<64xf32>, tensor<64xf32>
}
rt.program @result streams 1 events 0 arena 1792 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 5] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 5] : memref<64xf32>
  %z = rt.buffer "z" output offset 512 lives [0, 5] : memref<64xf32>
  %k = rt.buffer "k" activation offset 1280 lives [0, 4] : memref<64xf32>
  // expected-note @below {{the other buffer is "m"}}
  %m = rt.buffer "m" activation offset 768 lives [1, 3] : memref<64xf32>
  // expected-error @below {{shares bytes with a buffer that is alive at the same time}}
  %n = rt.buffer "n" activation offset 768 lives [3, 5] : memref<64xf32>
  %w = rt.buffer "r" workspace offset 1024 lives [2, 3] : memref<256xi8>
  rt.copy %x -> %k stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %k -> %m stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.invoke @r reads(%m : memref<64xf32>) writes(%n : memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {rt.origin = 2 : i64}
  rt.copy %k -> %y stream 0 {rt.origin = 3 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %n -> %z stream 0 {rt.origin = 4 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %z global tensor<64xf32> placement <[64]> : memref<64xf32>
}
rt.program @inside streams 1 events 0 arena 1792 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 5] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 5] : memref<64xf32>
  %z = rt.buffer "z" output offset 512 lives [0, 5] : memref<64xf32>
  %k = rt.buffer "k" activation offset 1280 lives [0, 4] : memref<64xf32>
  // expected-note @below {{the other buffer is "m"}}
  %m = rt.buffer "m" activation offset 768 lives [1, 3] : memref<64xf32>
  %n = rt.buffer "n" activation offset 1024 lives [3, 5] : memref<64xf32>
  // expected-error @below {{shares bytes with a buffer that is alive at the same time}}
  %w = rt.buffer "r" workspace offset 768 lives [2, 3] : memref<256xi8>
  rt.copy %x -> %k stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %k -> %m stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.invoke @r reads(%m : memref<64xf32>) writes(%n : memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {rt.origin = 2 : i64}
  rt.copy %k -> %y stream 0 {rt.origin = 3 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %n -> %z stream 0 {rt.origin = 4 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %z global tensor<64xf32> placement <[64]> : memref<64xf32>
}
rt.program @beyond streams 1 events 0 arena 1792 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 5] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 5] : memref<64xf32>
  %z = rt.buffer "z" output offset 512 lives [0, 5] : memref<64xf32>
  // expected-note @below {{the other buffer is "k"}}
  %k = rt.buffer "k" activation offset 1280 lives [0, 4] : memref<64xf32>
  %m = rt.buffer "m" activation offset 768 lives [1, 3] : memref<64xf32>
  %n = rt.buffer "n" activation offset 1024 lives [3, 5] : memref<64xf32>
  // expected-error @below {{shares bytes with a buffer that is alive at the same time}}
  %w = rt.buffer "r" workspace offset 1280 lives [2, 3] : memref<256xi8>
  rt.copy %x -> %k stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %k -> %m stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.invoke @r reads(%m : memref<64xf32>) writes(%n : memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {rt.origin = 2 : i64}
  // expected-error @below {{reads operand 0, whose buffer does not hold the value: never written, or overwritten since}}
  rt.copy %k -> %y stream 0 {rt.origin = 3 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %n -> %z stream 0 {rt.origin = 4 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %z global tensor<64xf32> placement <[64]> : memref<64xf32>
}
rt.program @itself streams 1 events 0 arena 1792 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 5] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 5] : memref<64xf32>
  %z = rt.buffer "z" output offset 512 lives [0, 5] : memref<64xf32>
  %k = rt.buffer "k" activation offset 1536 lives [0, 4] : memref<64xf32>
  %m = rt.buffer "m" activation offset 768 lives [1, 5] : memref<64xf32>
  %n = rt.buffer "n" activation offset 1024 lives [0, 5] : memref<64xf32>
  %w = rt.buffer "r" workspace offset 1280 lives [2, 3] : memref<256xi8>
  rt.copy %x -> %k stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %k -> %m stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  // expected-error @below {{writes bytes that it reads}}
  rt.invoke @r reads(%m : memref<64xf32>) writes(%m : memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {rt.origin = 2 : i64}
  rt.copy %k -> %y stream 0 {rt.origin = 3 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %m -> %z stream 0 {rt.origin = 4 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %z global tensor<64xf32> placement <[64]> : memref<64xf32>
}

// -----

// What a routine does not say that it overwrites, its callers may read again; and every result is in its block at the end.
// expected-error @below {{result 0 is not written, or overwritten, when the routine ends}}
// expected-error @below {{overwrites argument 0, which its callers may read again}}
rt.program @r routine [-1] streams 1 events 0 arena 0 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  // expected-error @below {{writes bytes that it reads}}
  rt.copy %x -> %x stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
}
func.func private @r.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec, rt.routine} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A routine that overwrites another argument than its function says.
// expected-error @below {{has other blocks than @r.spec has arguments and results}}
rt.program @r routine [0] streams 1 events 0 arena 0 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>):
}
func.func private @r.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec, rt.routine} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Calls in the wrong order; scratch over an operand; a value that another call has overwritten.
rt.program @r routine [-1, 1] streams 1 events 0 arena 256 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>, %s: memref<64xf32>, %y: memref<64xf32>):
  %a = rt.buffer "a" activation offset 0 lives [0, 1] : memref<64xf32>
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.copy %a -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.launch @k reads(%s, %x : memref<64xf32>, memref<64xf32>) writes(%s : memref<64xf32>) stream 0 {rt.origin = 2 : i64}
}
func.func private @r.spec(%x: tensor<64xf32>, %s: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {rt.spec, rt.routine, rt.in_place = array<i64: -1, 1>} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  %2 = rt.call @k(%s, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>
}
func.func private @k(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> attributes {rt.kernel, rt.in_place = array<i64: 0>} {
  %0 = nn.add %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
// expected-note @below {{the state is here}}
rt.state @s global tensor<64xf32> local memref<64xf32> placement <[64]> pieces [] offset 0
// expected-error @below {{does not leave the new value in state "s"}}
rt.program @order streams 1 events 0 arena 1280 attributes {rt.spec = @order.spec} {
  %x = rt.buffer "x" input offset 256 lives [0, 5] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %s = rt.state_buffer @s : memref<64xf32>
  %y = rt.buffer "y" output offset 512 lives [0, 5] : memref<64xf32>
  %m = rt.buffer "m" activation offset 768 lives [0, 5] : memref<64xf32>
  %w = rt.buffer "r" workspace offset 1024 lives [0, 5] : memref<256xi8>
  // expected-error @below {{reads operand 0, whose buffer does not hold the value: never written, or overwritten since}}
  rt.invoke @r reads(%m, %s : memref<64xf32>, memref<64xf32>) writes(%y, %s : memref<64xf32>, memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {label = "1", rt.origin = 1 : i64}
  // expected-error @below {{reads operand 1, whose buffer does not hold the value: never written, or overwritten since}}
  rt.invoke @r reads(%x, %s : memref<64xf32>, memref<64xf32>) writes(%m, %s : memref<64xf32>, memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {label = "0", rt.origin = 0 : i64}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @order.spec(%x: tensor<64xf32> {nn.name = "x"}, %s: tensor<64xf32> {nn.name = "s", nn.initial = 0.0 : f32})
    -> (tensor<64xf32> {nn.name = "y"}, tensor<64xf32> {nn.updates = "s"}) attributes {rt.spec} {
  %0:2 = rt.call @r(%x, %s) {label = "0"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %1:2 = rt.call @r(%0#0, %0#1) {label = "1"} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %1#0, %1#1 : tensor<64xf32>, tensor<64xf32>
}
rt.program @scratch streams 1 events 0 arena 1024 attributes {rt.spec = @scratch.spec} {
  // expected-note @below {{the other buffer is "x"}}
  %x = rt.buffer "x" input offset 256 lives [0, 2] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %s = rt.state_buffer @s : memref<64xf32>
  %y = rt.buffer "y" output offset 512 lives [0, 2] : memref<64xf32>
  // expected-error @below {{shares bytes with a buffer that is alive at the same time}}
  %w = rt.buffer "r" workspace offset 320 lives [0, 2] : memref<256xi8>
  rt.invoke @r reads(%x, %s : memref<64xf32>, memref<64xf32>) writes(%y, %s : memref<64xf32>, memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {rt.origin = 0 : i64}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @scratch.spec(%x: tensor<64xf32> {nn.name = "x"}, %s: tensor<64xf32> {nn.name = "s", nn.initial = 0.0 : f32})
    -> (tensor<64xf32> {nn.name = "y"}, tensor<64xf32> {nn.updates = "s"}) attributes {rt.spec} {
  %0:2 = rt.call @r(%x, %s) : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  return %0#0, %0#1 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Inside a routine that computes, other streams start after an event of stream 0, and stream 0 waits for them.
rt.mesh ["tp"] sizes [2]
rt.program @r routine [-1] streams 2 events 1 arena 256 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  %a = rt.buffer "a" activation offset 0 lives [0, 3] : memref<64xf32>
  // expected-error @below {{may start before its routine is called: its stream waits for no event of stream 0}}
  rt.copy %x -> %a stream 1 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.record 0 stream 1
  rt.wait 0 stream 0
  rt.copy %a -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
}
func.func private @r.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec, rt.routine} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
// expected-note @below {{it does not fit this}}
rt.program @q routine [-1] streams 2 events 1 arena 256 attributes {rt.spec = @q.spec} {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  %a = rt.buffer "a" activation offset 0 lives [0, 3] : memref<64xf32>
  rt.copy %x -> %a stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
  rt.record 0 stream 0
  rt.wait 0 stream 1
  // expected-error @below {{may end after its routine: stream 0 does not wait for it}}
  rt.copy %a -> %y stream 1 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
}
func.func private @q.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec, rt.routine} {
  %0 = rt.dense %x : tensor<64xf32>
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
rt.program @p streams 1 events 0 arena 768 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 3] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 3] : memref<64xf32>
  %w = rt.buffer "r" workspace offset 512 lives [0, 3] : memref<256xi8>
  // expected-error @below {{invokes a routine of 2 streams in a program of 1}}
  rt.invoke @q reads(%x : memref<64xf32>) writes(%y : memref<64xf32>) scratch(%w : memref<256xi8>) stream 0 {rt.origin = 0 : i64}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32> {nn.name = "x"}) -> (tensor<64xf32> {nn.name = "y"}) attributes {rt.spec} {
  %0 = rt.call @q(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Communication is in the order of one stream, in routines and out of them, and a call is on the stream of its commands.
rt.mesh ["dp"] sizes [2]
// expected-note @below {{it does not fit this}}
rt.program @r routine [-1] streams 2 events 0 arena 0 attributes {rt.spec = @r.spec} {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  rt.copy %x -> %y stream 0 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
}
func.func private @r.spec(%x: tensor<64xf32>) -> tensor<64xf32> attributes {rt.spec, rt.routine} {
  %0 = rt.dense %x : tensor<64xf32>
  return %0 : tensor<64xf32>
}
#mesh = #dist.mesh<["dp"=2]>
!due = tensor<64xf32, #dist.local<#mesh, [64], partial = sum["dp"]>>
!sum = tensor<64xf32, #dist.local<#mesh, [64]>>
rt.program @q routine [-1] streams 2 events 0 arena 0 attributes {rt.spec = @q.spec} {
^bb0(%x: memref<64xf32>, %y: memref<64xf32>):
  // expected-note @below {{it does not fit this}}
  rt.collective all_reduce sum %x -> %y axes ["dp"] shape [1, 64, 1, 1, 1] accumulate f32 stream 1 {rt.origin = 0 : i64} : memref<64xf32> -> memref<64xf32>
}
func.func private @q.spec(%x: !due) -> !sum attributes {rt.spec, rt.routine} {
  %0 = dist.all_reduce %x ["dp"] accumulate f32 : !due -> !sum
  return %0 : !sum
}
rt.program @p streams 2 events 0 arena 1024 attributes {rt.spec = @p.spec} {
  %x = rt.buffer "x" input offset 0 lives [0, 1] : memref<64xf32>
  rt.input "x" %x global tensor<64xf32> placement <[64]> : memref<64xf32>
  %g = rt.buffer "g" input offset 256 lives [0, 1] : memref<64xf32>
  rt.input "g" %g global tensor<64xf32> placement <[64]> : memref<64xf32>
  %y = rt.buffer "y" output offset 512 lives [0, 1] : memref<64xf32>
  %z = rt.buffer "z" output offset 768 lives [0, 1] : memref<64xf32>
  // expected-error @below {{runs on stream 1, but its routine computes}}
  rt.invoke @r reads(%x : memref<64xf32>) writes(%y : memref<64xf32>) stream 1 {rt.origin = 0 : i64}
  // expected-error @below {{communicates on stream 0, other commands on stream 1}}
  // expected-error @below {{runs on stream 0, but a command of its routine on stream 1}}
  rt.invoke @q reads(%g : memref<64xf32>) writes(%z : memref<64xf32>) communicates stream 0 {rt.origin = 1 : i64}
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
  rt.output "z" %z global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec(%x: tensor<64xf32> {nn.name = "x"}, %g: !due {nn.name = "g"}) -> (tensor<64xf32> {nn.name = "y"}, !sum {nn.name = "z"}) attributes {rt.spec} {
  %0 = rt.call @r(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = rt.call @q(%g) : (!due) -> !sum
  return %0, %1 : tensor<64xf32>, !sum
}

// -----

// A library call works where its operand lies.
rt.program @p streams 1 events 0 arena 5120 attributes {rt.spec = @p.spec} {
  %i = rt.buffer "i" input offset 0 lives [0, 1] : memref<16x1xi64>
  rt.input "i" %i global tensor<16x1xi64> placement <[16], [1]> : memref<16x1xi64>
  %u = rt.buffer "u" input offset 256 lives [0, 1] : memref<16x64xf32>
  rt.input "u" %u global tensor<16x64xf32> placement <[16], [64]> : memref<16x64xf32>
  %y = rt.buffer "y" output offset 4352 lives [0, 1] : memref<1x64xf32>
  %v = rt.view %u : memref<16x64xf32> to memref<1x64xf32>
  rt.copy %v -> %y stream 0 {rt.origin = 1 : i64} : memref<1x64xf32> -> memref<1x64xf32>
  rt.scatter_add %i, %u -> %y operand(%y : memref<1x64xf32>) stream 0 {rt.origin = 2 : i64} : memref<16x1xi64>, memref<16x64xf32> -> memref<1x64xf32>
  rt.output "y" %y global tensor<1x64xf32> placement <[1], [64]> : memref<1x64xf32>
}
func.func private @p.spec(%i: tensor<16x1xi64>, %u: tensor<16x64xf32>) -> (tensor<1x64xf32>) attributes {rt.spec} {
  %0 = nn.slice %u starts = [0, 0] strides = [1, 1] : tensor<16x64xf32> -> tensor<1x64xf32>
  %1 = rt.dense %0 : tensor<1x64xf32>
  %2 = rt.fusion library(%i, %u, %1 : tensor<16x1xi64>, tensor<16x64xf32>, tensor<1x64xf32>) -> (tensor<1x64xf32>) {
  ^bb0(%a: tensor<16x1xi64>, %b: tensor<16x64xf32>, %c: tensor<1x64xf32>):
    %4 = nn.scatter add %c, %a, %b indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<1x64xf32>, tensor<16x1xi64>, tensor<16x64xf32>) -> tensor<1x64xf32>
    rt.yield %4 : tensor<1x64xf32>
  }
  return %2 : tensor<1x64xf32>
}

// -----

// It may not if something reads the operand afterwards.
rt.program @p streams 1 events 0 arena 5120 attributes {rt.spec = @p.spec} {
  %i = rt.buffer "i" input offset 0 lives [0, 2] : memref<16x1xi64>
  rt.input "i" %i global tensor<16x1xi64> placement <[16], [1]> : memref<16x1xi64>
  %u = rt.buffer "u" input offset 256 lives [0, 2] : memref<16x64xf32>
  rt.input "u" %u global tensor<16x64xf32> placement <[16], [64]> : memref<16x64xf32>
  %y = rt.buffer "y" output offset 4352 lives [0, 2] : memref<1x64xf32>
  %v = rt.view %u : memref<16x64xf32> to memref<1x64xf32>
  rt.copy %v -> %y stream 0 {rt.origin = 1 : i64} : memref<1x64xf32> -> memref<1x64xf32>
  rt.scatter_add %i, %u -> %y operand(%y : memref<1x64xf32>) stream 0 {rt.origin = 2 : i64} : memref<16x1xi64>, memref<16x64xf32> -> memref<1x64xf32>
  %z = rt.buffer "z" output offset 4608 lives [2, 2] : memref<1x64xf32>
  // expected-error @below {{reads operand 0, whose buffer does not hold the value: never written, or overwritten since}}
  rt.copy %y -> %z stream 0 {rt.origin = 3 : i64} : memref<1x64xf32> -> memref<1x64xf32>
  rt.output "y" %y global tensor<1x64xf32> placement <[1], [64]> : memref<1x64xf32>
  rt.output "z" %z global tensor<1x64xf32> placement <[1], [64]> : memref<1x64xf32>
}
func.func private @p.spec(%i: tensor<16x1xi64>, %u: tensor<16x64xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>) attributes {rt.spec} {
  %0 = nn.slice %u starts = [0, 0] strides = [1, 1] : tensor<16x64xf32> -> tensor<1x64xf32>
  %1 = rt.dense %0 : tensor<1x64xf32>
  %2 = rt.fusion library(%i, %u, %1 : tensor<16x1xi64>, tensor<16x64xf32>, tensor<1x64xf32>) -> (tensor<1x64xf32>) {
  ^bb0(%a: tensor<16x1xi64>, %b: tensor<16x64xf32>, %c: tensor<1x64xf32>):
    %4 = nn.scatter add %c, %a, %b indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<1x64xf32>, tensor<16x1xi64>, tensor<16x64xf32>) -> tensor<1x64xf32>
    rt.yield %4 : tensor<1x64xf32>
  }
  %3 = rt.dense %1 : tensor<1x64xf32>
  return %2, %3 : tensor<1x64xf32>, tensor<1x64xf32>
}

// -----

// Nor where its updates lie: they are read again and again.
rt.program @p streams 1 events 0 arena 1024 attributes {rt.spec = @p.spec} {
  %i = rt.buffer "i" input offset 0 lives [0, 1] : memref<1x1xi64>
  rt.input "i" %i global tensor<1x1xi64> placement <[1], [1]> : memref<1x1xi64>
  %u = rt.buffer "u" input offset 256 lives [0, 1] : memref<1x64xf32>
  rt.input "u" %u global tensor<1x64xf32> placement <[1], [64]> : memref<1x64xf32>
  %y = rt.buffer "y" output offset 512 lives [0, 1] : memref<1x64xf32>
  rt.copy %u -> %y stream 0 {rt.origin = 0 : i64} : memref<1x64xf32> -> memref<1x64xf32>
  // expected-error @below {{writes bytes that it reads}}
  rt.scatter_add %i, %y -> %y operand(%y : memref<1x64xf32>) stream 0 {rt.origin = 1 : i64} : memref<1x1xi64>, memref<1x64xf32> -> memref<1x64xf32>
  rt.output "y" %y global tensor<1x64xf32> placement <[1], [64]> : memref<1x64xf32>
}
func.func private @p.spec(%i: tensor<1x1xi64>, %u: tensor<1x64xf32>) -> tensor<1x64xf32> attributes {rt.spec} {
  %0 = rt.dense %u : tensor<1x64xf32>
  %1 = rt.fusion library(%i, %0 : tensor<1x1xi64>, tensor<1x64xf32>) -> (tensor<1x64xf32>) {
  ^bb0(%a: tensor<1x1xi64>, %b: tensor<1x64xf32>):
    %2 = nn.scatter add %b, %a, %b indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<1x64xf32>, tensor<1x1xi64>, tensor<1x64xf32>) -> tensor<1x64xf32>
    rt.yield %2 : tensor<1x64xf32>
  }
  return %1 : tensor<1x64xf32>
}

// -----

// What no command writes is there for none that does more than to add it to a product.
rt.program @p streams 1 events 0 arena 512 attributes {rt.spec = @p.spec} {
  %n = rt.buffer "n" gradient offset 0 lives [0, 0] : memref<64xf32>
  %y = rt.buffer "y" output offset 256 lives [0, 0] : memref<64xf32>
  rt.copy %n -> %y stream 0 {rt.origin = 1 : i64} : memref<64xf32> -> memref<64xf32>
  rt.output "y" %y global tensor<64xf32> placement <[64]> : memref<64xf32>
}
func.func private @p.spec() -> (tensor<64xf32> {nn.name = "y"}) attributes {rt.spec} {
  // expected-note @below {{the sum starts here}}
  %0 = rt.nothing : tensor<64xf32>
  // expected-error @below {{op 1 of @p.spec reads as operand 0 a sum to which nothing was added (op 0), and does more than to add it to one product; let a command make that sum}}
  %1 = rt.dense %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
