// RUN: %doctest %s
// How much of the last shard is padding depends on the process, so the mask reads the coordinate on `tp` from a
// tensor.
//--- before
#mesh = #dist.mesh<["tp"=2]>
#in = #dist.local<#mesh, [5{"tp"}]>
#out = #dist.local<#mesh, [5{"tp"}], padding = sum>
module attributes {dist.mesh = #mesh} {
  func.func @mask(%x: tensor<3xf32, #in>) -> tensor<3xf32, #out> {
    %0 = dist.mask %x : tensor<3xf32, #in> -> tensor<3xf32, #out>
    return %0 : tensor<3xf32, #out>
  }
}
//--- after
#map = affine_map<(d0) -> (d0)>
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @mask(%arg0: tensor<3xf32, #dist.local<#mesh, [5{"tp"}]>>) -> tensor<3xf32, #dist.local<#mesh, [5{"tp"}], padding = sum>> {
    %0 = rt.coordinate "tp" : tensor<1xi64>
    %1 = rt.body(%arg0, %0 : tensor<3xf32, #dist.local<#mesh, [5{"tp"}]>>, tensor<1xi64>) -> tensor<3xf32, #dist.local<#mesh, [5{"tp"}], padding = sum>> {
    ^bb0(%arg1: tensor<3xf32>, %arg2: tensor<1xi64>):
      %2 = tensor.empty() : tensor<3xf32>
      %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg1 : tensor<3xf32>) outs(%2 : tensor<3xf32>) {
      ^bb0(%in: f32, %out: f32):
        %c0 = arith.constant 0 : index
        %extracted = tensor.extract %arg2[%c0] : tensor<1xi64>
        %4 = arith.index_cast %extracted : i64 to index
        %5 = linalg.index 0 : index
        %c1 = arith.constant 1 : index
        %6 = arith.divui %5, %c1 : index
        %c3 = arith.constant 3 : index
        %7 = arith.remui %6, %c3 : index
        %c3_0 = arith.constant 3 : index
        %8 = arith.muli %4, %c3_0 : index
        %9 = arith.addi %7, %8 : index
        %c5 = arith.constant 5 : index
        %10 = arith.cmpi ult, %9, %c5 : index
        %cst = arith.constant 0.000000e+00 : f32
        %11 = arith.select %10, %in, %cst : f32
        linalg.yield %11 : f32
      } -> tensor<3xf32>
      rt.yield %3 : tensor<3xf32>
    }
    return %1 : tensor<3xf32, #dist.local<#mesh, [5{"tp"}], padding = sum>>
  }
}
