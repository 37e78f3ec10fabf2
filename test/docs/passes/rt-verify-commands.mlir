// RUN: %doctest %s
// The command that makes `a` is missing, so its op is not done, and what reads `a` reads nothing.
//--- before
module {
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
}
