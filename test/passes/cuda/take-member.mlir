// RUN: weft-opt %s --cuda-take-member --split-input-file | FileCheck %s
// RUN: weft-opt %s --cuda-lower-kernel-to-gpu --split-input-file | FileCheck %s --check-prefix=GRID

// Of three members one is left; each has blocks of its own, and the number of a block among them.
// CHECK: func.func @sums(%[[X:.+]]: tensor<8xf32>, %[[Y:.+]]: tensor<8xf32>) -> tensor<8xf32>
// CHECK-SAME: rt.in_place = array<i64: 0>
// CHECK-SAME: rt.members = 3 : i64
// CHECK-NEXT: %[[SUM:.+]] = nn.add %[[X]], %[[Y]]
// CHECK-NEXT: return %[[SUM]] : tensor<8xf32>
// GRID: gpu.func @sums(%{{.+}}: memref<8xf32> {{.*}}, %{{.+}}: memref<8xf32> {{.*}}, %{{.+}}: memref<8xf32> {{[^%]*}})
// GRID-SAME: weft.grid = 3 : i64, weft.members = array<i64: 3, 2>
// GRID: %[[BLOCK:.+]] = gpu.block_id x
// GRID: arith.remui %[[BLOCK]], %{{.+}} : index
func.func @sums(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>, %e: tensor<8xf32>, %f: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {rt.kernel, rt.members = 3 : i64, rt.in_place = array<i64: 0, 2, 4>} {
  %0 = nn.add %a, %b : tensor<8xf32>
  %1 = nn.add %c, %d : tensor<8xf32>
  %2 = nn.add %e, %f : tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
