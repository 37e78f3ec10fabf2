// RUN: %doctest %s
// Each buffer gets its offset in bytes. The kernel may not write into its operand's bytes here, so both live at
// once.
//--- before
module {
  rt.state @w global tensor<8x4xf32> local memref<8x4xf32> placement <[8], [4]> pieces [#rt.piece<type = tensor<8x4xf32>, file = "m.bin">]
  rt.program @forward streams 1 events 0 attributes {rt.spec = @forward.spec} {
    %0 = rt.buffer "x"  input : memref<4x8xf32>
    rt.input "x" %0 global tensor<4x8xf32> placement <[4], [8]> : memref<4x8xf32>
    %1 = rt.state_buffer @w : memref<8x4xf32>
    %2 = rt.buffer "product"  activation : memref<4x4xf32>
    rt.gemm %0, %1 -> %2 accumulate f32 stream 0 {rt.origin = 0 : i64} : memref<4x8xf32>, memref<8x4xf32> -> memref<4x4xf32>
    %3 = rt.buffer "y"  output : memref<4x4xf32>
    rt.launch @k_add reads(%2 : memref<4x4xf32>) writes(%3 : memref<4x4xf32>) stream 0 {rt.origin = 1 : i64}
    rt.output "y" %3 global tensor<4x4xf32> placement <[4], [4]> : memref<4x4xf32>
  }
  func.func private @forward.spec(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<8x4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 128>}) -> (tensor<4x4xf32> {nn.name = "y"}) attributes {rt.spec} {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x8xf32>, %arg3: tensor<8x4xf32>):
      %2 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      rt.yield %2 : tensor<4x4xf32>
    }
    %1 = rt.call @k_add(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func private @k_add(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.kernel} {
    %0 = nn.exp %arg0 : tensor<4x4xf32>
    %1 = nn.add %0, %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}
//--- after
module {
  rt.state @w global tensor<8x4xf32> local memref<8x4xf32> placement <[8], [4]> pieces [#rt.piece<type = tensor<8x4xf32>, file = "m.bin">] offset 0
  rt.program @forward streams 1 events 0 arena 384 attributes {rt.spec = @forward.spec} {
    %0 = rt.buffer "x"  input offset 128 lives [0, 1] : memref<4x8xf32>
    rt.input "x" %0 global tensor<4x8xf32> placement <[4], [8]> : memref<4x8xf32>
    %1 = rt.state_buffer @w : memref<8x4xf32>
    %2 = rt.buffer "product"  activation offset 320 lives [0, 1] : memref<4x4xf32>
    rt.gemm %0, %1 -> %2 accumulate f32 stream 0 {rt.origin = 0 : i64} : memref<4x8xf32>, memref<8x4xf32> -> memref<4x4xf32>
    %3 = rt.buffer "y"  output offset 256 lives [0, 1] : memref<4x4xf32>
    rt.launch @k_add reads(%2 : memref<4x4xf32>) writes(%3 : memref<4x4xf32>) stream 0 {rt.origin = 1 : i64}
    rt.output "y" %3 global tensor<4x4xf32> placement <[4], [4]> : memref<4x4xf32>
  }
  func.func private @forward.spec(%arg0: tensor<4x8xf32> {nn.name = "x"}, %arg1: tensor<8x4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 0, length = 128>}) -> (tensor<4x4xf32> {nn.name = "y"}) attributes {rt.spec} {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<4x4xf32>) {
    ^bb0(%arg2: tensor<4x8xf32>, %arg3: tensor<8x4xf32>):
      %2 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      rt.yield %2 : tensor<4x4xf32>
    }
    %1 = rt.call @k_add(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func private @k_add(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.kernel} {
    %0 = nn.exp %arg0 : tensor<4x4xf32>
    %1 = nn.add %0, %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}
