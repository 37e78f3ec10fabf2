// RUN: %doctest %s
// The all_reduce goes to stream 1. It waits for the product, and the kernel waits for it.
//--- before
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  rt.mesh ["tp"] sizes [2]
  rt.program @forward streams 1 events 0 attributes {rt.spec = @forward.spec} {
    %0 = rt.buffer "x"  input : memref<4x4xf32>
    rt.input "x" %0 global tensor<4x8xf32> placement <[4], [8:"tp"]> : memref<4x4xf32>
    %1 = rt.buffer "w"  input : memref<4x4xf32>
    rt.input "w" %1 global tensor<8x4xf32> placement <[8:"tp"], [4]> : memref<4x4xf32>
    %2 = rt.buffer "product"  activation : memref<4x4xf32>
    rt.gemm %0, %1 -> %2 accumulate f32 stream 0 {rt.origin = 0 : i64} : memref<4x4xf32>, memref<4x4xf32> -> memref<4x4xf32>
    %3 = rt.buffer "product"  communication : memref<4x4xf32>
    rt.collective  all_reduce  sum %2 -> %3 axes ["tp"] shape [1, 16, 1, 1, 1] accumulate f32 stream 0 {rt.origin = 1 : i64} : memref<4x4xf32> -> memref<4x4xf32>
    %4 = rt.buffer "y"  output : memref<4x4xf32>
    rt.launch @k_exp reads(%3 : memref<4x4xf32>) writes(%4 : memref<4x4xf32>) stream 0 {rt.origin = 2 : i64}
    rt.output "y" %4 global tensor<4x4xf32> placement <[4], [4]> : memref<4x4xf32>
  }
  func.func private @forward.spec(%arg0: tensor<4x4xf32, #dist.local<#mesh, [4, 8{"tp"}]>> {nn.name = "x"}, %arg1: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> {nn.name = "w"}) -> (tensor<4x4xf32, #dist.local<#mesh, [4, 4]>> {nn.name = "y"}) attributes {rt.spec} {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x4xf32, #dist.local<#mesh, [4, 8{"tp"}]>>, tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> (tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["tp"]>>) {
    ^bb0(%arg2: tensor<4x4xf32>, %arg3: tensor<4x4xf32>):
      %3 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      rt.yield %3 : tensor<4x4xf32>
    }
    %1 = dist.all_reduce %0 ["tp"] accumulate f32 : tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["tp"]>> -> tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
    %2 = rt.call @k_exp(%1) : (tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>) -> tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
    return %2 : tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
  }
  func.func private @k_exp(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.kernel} {
    %0 = nn.exp %arg0 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
//--- after
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  rt.mesh ["tp"] sizes [2]
  rt.program @forward streams 2 events 2 attributes {rt.spec = @forward.spec} {
    %0 = rt.buffer "x"  input : memref<4x4xf32>
    rt.input "x" %0 global tensor<4x8xf32> placement <[4], [8:"tp"]> : memref<4x4xf32>
    %1 = rt.buffer "w"  input : memref<4x4xf32>
    rt.input "w" %1 global tensor<8x4xf32> placement <[8:"tp"], [4]> : memref<4x4xf32>
    %2 = rt.buffer "product"  activation : memref<4x4xf32>
    %3 = rt.buffer "product"  communication : memref<4x4xf32>
    %4 = rt.buffer "y"  output : memref<4x4xf32>
    rt.output "y" %4 global tensor<4x4xf32> placement <[4], [4]> : memref<4x4xf32>
    rt.gemm %0, %1 -> %2 accumulate f32 stream 0 {rt.origin = 0 : i64} : memref<4x4xf32>, memref<4x4xf32> -> memref<4x4xf32>
    rt.record 0 stream 0
    rt.wait 0 stream 1
    rt.collective  all_reduce  sum %2 -> %3 axes ["tp"] shape [1, 16, 1, 1, 1] accumulate f32 stream 1 {rt.origin = 1 : i64} : memref<4x4xf32> -> memref<4x4xf32>
    rt.record 1 stream 1
    rt.wait 1 stream 0
    rt.launch @k_exp reads(%3 : memref<4x4xf32>) writes(%4 : memref<4x4xf32>) stream 0 {rt.origin = 2 : i64}
  }
  func.func private @forward.spec(%arg0: tensor<4x4xf32, #dist.local<#mesh, [4, 8{"tp"}]>> {nn.name = "x"}, %arg1: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> {nn.name = "w"}) -> (tensor<4x4xf32, #dist.local<#mesh, [4, 4]>> {nn.name = "y"}) attributes {rt.spec} {
    %0 = rt.fusion  library(%arg0, %arg1 : tensor<4x4xf32, #dist.local<#mesh, [4, 8{"tp"}]>>, tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> (tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["tp"]>>) {
    ^bb0(%arg2: tensor<4x4xf32>, %arg3: tensor<4x4xf32>):
      %3 = nn.contract %arg2, %arg3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      rt.yield %3 : tensor<4x4xf32>
    }
    %1 = dist.all_reduce %0 ["tp"] accumulate f32 : tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["tp"]>> -> tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
    %2 = rt.call @k_exp(%1) : (tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>) -> tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
    return %2 : tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>
  }
  func.func private @k_exp(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {rt.kernel} {
    %0 = nn.exp %arg0 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
