// RUN: %doctest %s
// All threads of one block share the one nest: of 32 elements each takes four, which are one access.
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
  gpu.module @k_scale {
    gpu.func @k_scale(%arg0: memref<32xf32> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %arg1: memref<8xf32> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %arg2: memref<32xf32> {llvm.align = 16 : i64, llvm.noalias}) kernel attributes {known_block_size = array<i32: 256, 1, 1>, weft.grid = 1 : i64} {
      %c0 = arith.constant 0 : index
      %c0_0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %block_id_x = gpu.block_id  x
      %0 = arith.muli %block_id_x, %c256 : index
      %thread_id_x = gpu.thread_id  x
      %1 = arith.addi %0, %thread_id_x : index
      %c256_1 = arith.constant 256 : index
      %c8 = arith.constant 8 : index
      %2 = arith.cmpi ult, %1, %c8 : index
      scf.if %2 {
        %c0_2 = arith.constant 0 : index
        %c0_3 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %3 = arith.muli %1, %c4 : index
        %4 = vector.load %arg0[%3] {alignment = 16 : i64} : memref<32xf32>, vector<4xf32>
        %5 = vector.extract %4[0] : f32 from vector<4xf32>
        %6 = math.exp %5 : f32
        %c2 = arith.constant 2 : index
        %7 = arith.remui %1, %c2 : index
        %c4_4 = arith.constant 4 : index
        %8 = arith.muli %7, %c4_4 : index
        %9 = vector.load %arg1[%8] {alignment = 16 : i64} : memref<8xf32>, vector<4xf32>
        %10 = vector.extract %9[0] : f32 from vector<4xf32>
        %11 = arith.mulf %6, %10 : f32
        %c1 = arith.constant 1 : index
        %12 = vector.extract %4[1] : f32 from vector<4xf32>
        %13 = math.exp %12 : f32
        %14 = vector.extract %9[1] : f32 from vector<4xf32>
        %15 = arith.mulf %13, %14 : f32
        %c2_5 = arith.constant 2 : index
        %16 = vector.extract %4[2] : f32 from vector<4xf32>
        %17 = math.exp %16 : f32
        %18 = vector.extract %9[2] : f32 from vector<4xf32>
        %19 = arith.mulf %17, %18 : f32
        %c3 = arith.constant 3 : index
        %20 = vector.extract %4[3] : f32 from vector<4xf32>
        %21 = math.exp %20 : f32
        %22 = vector.extract %9[3] : f32 from vector<4xf32>
        %23 = arith.mulf %21, %22 : f32
        %24 = vector.from_elements %11, %15, %19, %23 : vector<4xf32>
        %c4_6 = arith.constant 4 : index
        %25 = arith.muli %1, %c4_6 : index
        vector.store %24, %arg2[%25] {alignment = 16 : i64} : memref<32xf32>, vector<4xf32>
      }
      gpu.return
    }
  }
}

