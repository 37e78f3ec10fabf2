// RUN: %doctest %s
// The kernel becomes a loop over its units, in which all three ops are fused; no value but the result is in
// memory.
//--- before
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @k_scale(%arg0: tensor<4x8xf32>, %arg1: tensor<8xf32>) -> tensor<4x8xf32> {
    %0 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = math.exp %in : f32
      linalg.yield %4 : f32
    } -> tensor<4x8xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<8xf32>) outs(%0 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x8xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%1, %2 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %4 = arith.mulf %in, %in_0 : f32
      linalg.yield %4 : f32
    } -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>
  }
}
//--- after
module {
  func.func private @k_scale.body(%arg0: index, %arg1: index, %arg2: !llvm.ptr {llvm.noalias}, %arg3: !llvm.ptr {llvm.noalias}, %arg4: !llvm.ptr {llvm.noalias}) {
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %c0_1 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %arg5 = %arg0 to %arg1 step %c1 {
      %c0_2 = arith.constant 0 : index
      %c1_3 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %arg6 = %c0_2 to %c4 step %c1_3 {
        %c0_4 = arith.constant 0 : index
        %c1_5 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %arg7 = %c0_4 to %c8 step %c1_5 {
          %c8_6 = arith.constant 8 : index
          %0 = arith.muli %arg6, %c8_6 : index
          %1 = arith.addi %0, %arg7 : index
          %2 = arith.index_cast %1 : index to i64
          %3 = llvm.getelementptr inbounds %arg2[%2] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %4 = llvm.load %3 : !llvm.ptr -> f32
          %5 = math.exp %4 : f32
          %6 = arith.index_cast %arg7 : index to i64
          %7 = llvm.getelementptr inbounds %arg3[%6] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          %8 = llvm.load %7 : !llvm.ptr -> f32
          %9 = arith.mulf %5, %8 : f32
          %c8_7 = arith.constant 8 : index
          %10 = arith.muli %arg6, %c8_7 : index
          %11 = arith.addi %10, %arg7 : index
          %12 = arith.index_cast %11 : index to i64
          %13 = llvm.getelementptr inbounds %arg4[%12] : (!llvm.ptr, i64) -> !llvm.ptr, f32
          llvm.store %9, %13 : f32, !llvm.ptr
        }
      }
    }
    return
  }
  func.func @k_scale(%arg0: index, %arg1: index, %arg2: !llvm.ptr, %arg3: !llvm.ptr) attributes {rt.parallel_extent = 1 : i64, rt.parallel_grain = 1063 : i64} {
    %0 = llvm.getelementptr %arg2[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
    %2 = llvm.getelementptr %arg2[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %3 = llvm.load %2 : !llvm.ptr -> !llvm.ptr
    %4 = llvm.getelementptr %arg2[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %5 = llvm.load %4 : !llvm.ptr -> !llvm.ptr
    call @k_scale.body(%arg0, %arg1, %1, %3, %5) : (index, index, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    return
  }
}
