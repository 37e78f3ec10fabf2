// RUN: weft-opt %s --dist-insert-reshards --dist-verify-spmd --split-input-file | FileCheck %s
// RUN: weft-opt %s --dist-insert-reshards=part --dist-verify-spmd --split-input-file | FileCheck %s --check-prefix=PART

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A row-parallel product is partial, and reduced behind the op.
// CHECK-LABEL: func @row_parallel
func.func @row_parallel(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                        %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
  // CHECK: %[[PARTIAL:.+]] = nn.contract {{.*}} -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>>
  // CHECK-NEXT: %[[WHOLE:.+]] = dist.reshard %[[PARTIAL]] {{.*}} -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4]>>
  // CHECK-NEXT: return %[[WHOLE]]
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A partial result whose request is a split goes there in one reshard.
// CHECK-LABEL: func @sequence_parallel
func.func @sequence_parallel(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                             %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
  // CHECK: dist.reshard {{.*}}partial = sum["tp"]>> -> tensor<8x4xf32, #dist.placement<#mesh, [8{"tp"}, 4]>>
  // CHECK-NOT: dist.reshard
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      {dist.placements = [#dist.placement<#mesh, [8{"tp"}, 4]>]}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = nn.exp %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A request to stay partial passes through ops that commute with the sum: two
// row-parallel branches share one all_reduce.
// CHECK-LABEL: func @stay_partial
func.func @stay_partial(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                        %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>}) -> tensor<8x4xf32> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      {dist.placements = [#dist.placement<#mesh, [8, 4], partial = sum["tp"]>]}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = nn.negate %0 {dist.placements = [#dist.placement<#mesh, [8, 4], partial = sum["tp"]>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: nn.add {{.*}} : tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>>
  // CHECK-NEXT: dist.reshard
  // CHECK-NOT: dist.reshard
  %2 = nn.add %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// How an op reads its operands can be settled from outside.
// CHECK-LABEL: func @settled
func.func @settled(%x: tensor<8x4xf32> {dist.placement = #dist.placement<#mesh, [8{"tp"}, 4]>}) -> tensor<8x4xf32> {
  // CHECK: %[[X:.+]] = dist.reshard {{.*}} -> tensor<8x4xf32, #dist.placement<#mesh, [8, 4{"tp"}]>>
  // CHECK-NEXT: nn.exp %[[X]]
  %0 = nn.exp %x {dist.operands = [#dist.placement<#mesh, [8, 4{"tp"}]>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
}

// -----

#mesh = #dist.mesh<[temporal "mb"=2]>
#rows = #dist.placement<#mesh, [8{"mb"}, 4]>
#sum = #dist.placement<#mesh, [4, 4]>
module attributes {dist.mesh = #mesh} {
// A weight is read first and last. Over microbatches its gradient's addends, made far from each other, are summed up each
// where it is made, and added behind both sums. In a part of a model nothing is known to be far.
// PART-LABEL: func @far_addends
// PART-NOT: dist.reshard
// PART: nn.add {{.*}}partial = sum["mb"]>>
// PART-NEXT: dist.reshard
// CHECK-LABEL: func @far_addends
func.func @far_addends(%x: tensor<8x4xf32> {dist.placement = #rows}, %y: tensor<8x4xf32> {dist.placement = #rows}) -> (tensor<4x4xf32> {dist.placement = #sum}) {
  // CHECK: %[[LAST:.+]] = nn.contract {{.*}}partial = sum["mb"]>>
  // CHECK-NEXT: %[[LASTS:.+]] = dist.reshard %[[LAST]] {{.*}} -> tensor<4x4xf32, #dist.placement<#mesh, [4, 4]>>
  %last = nn.contract %x, %y lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %0 = nn.exp %y {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.exp %0 {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: %[[FIRST:.+]] = nn.contract {{.*}}partial = sum["mb"]>>
  // CHECK-NEXT: %[[FIRSTS:.+]] = dist.reshard %[[FIRST]] {{.*}} -> tensor<4x4xf32, #dist.placement<#mesh, [4, 4]>>
  %first = nn.contract %x, %1 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[BOTH:.+]] = nn.add %[[LASTS]], %[[FIRSTS]]
  // CHECK-NEXT: return %[[BOTH]]
  %both = nn.add %last, %first {nn.role = "weight_gradient"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %both : tensor<4x4xf32>
}

// Kept split, it is reduced in every microbatch, and is one sum.
// CHECK-LABEL: func @reduced_each_microbatch
func.func @reduced_each_microbatch(%x: tensor<8x4xf32> {dist.placement = #rows}, %y: tensor<8x4xf32> {dist.placement = #rows}) -> (tensor<4x4xf32> {dist.placement = #sum}) {
  %last = nn.contract %x, %y lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %0 = nn.exp %y {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.exp %0 {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %first = nn.contract %x, %1 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: nn.add {{.*}}partial = sum["mb"]>>
  // CHECK-NEXT: dist.reshard
  %both = nn.add %last, %first {nn.role = "weight_gradient", dist.step_part = "microbatch"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %both : tensor<4x4xf32>
}

// Of three addends none is apart: the far one would make each of the near ones another accumulator, and a number of them would be
// needed both in the microbatch and behind it.
// CHECK-LABEL: func @three_addends
func.func @three_addends(%x: tensor<8x4xf32> {dist.placement = #rows}, %y: tensor<8x4xf32> {dist.placement = #rows}) -> (tensor<4x4xf32> {dist.placement = #sum}) {
  %last = nn.contract %x, %y lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %0 = nn.exp %y {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.exp %0 {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = nn.exp %1 {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = nn.contract %x, %2 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: nn.add {{.*}}partial = sum["mb"]>>
  %4 = nn.add %last, %3 {nn.role = "weight_gradient"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = nn.contract %y, %2 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: nn.add {{.*}}partial = sum["mb"]>>
  // CHECK-NEXT: dist.reshard
  // CHECK-NOT: dist.reshard
  // CHECK: return
  %6 = nn.add %4, %5 {nn.role = "weight_gradient"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// What is made side by side, as a recurrence makes its steps' addends, is one sum.
// CHECK-LABEL: func @near_addends
func.func @near_addends(%x: tensor<8x4xf32> {dist.placement = #rows}, %y: tensor<8x4xf32> {dist.placement = #rows}) -> (tensor<4x4xf32> {dist.placement = #sum}) {
  %0 = nn.exp %y {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = nn.exp %0 {nn.role = "input_gradient"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %last = nn.contract %x, %y lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %first = nn.contract %x, %1 lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 {nn.role = "weight_gradient"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: nn.add {{.*}}partial = sum["mb"]>>
  // CHECK-NEXT: dist.reshard
  %both = nn.add %last, %first {nn.role = "weight_gradient"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %both : tensor<4x4xf32>
}
}
