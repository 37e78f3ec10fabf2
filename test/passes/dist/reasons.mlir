// RUN: weft-opt %s --dist-insert-reshards --split-input-file | FileCheck %s

// Of several products that are added up the last one makes the sum. What its own node does with it hands it on: readers
// are the nodes and outputs behind.
// CHECK: #[[REASON:.+]] = #dist.reason<maker = "second", readers = ["act", "y"], reader_count = 2, role = "forward", from = <#mesh, [8, 4], partial = sum["tp"]>, to = <#mesh, [8, 4]>, summed = <#mesh, [16{"tp"}]>>
// CHECK-LABEL: func @added
// CHECK: dist.reshard {{.*}} {dist.reason = #[[REASON]]}
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @added(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8, 16{"tp"}]>},
                 %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>})
    -> (tensor<8x4xf32> {nn.name = "z"}, tensor<8x4xf32> {nn.name = "y"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      {dist.placements = [#dist.placement<#mesh, [8, 4], partial = sum["tp"]>]}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> loc("first")
  %1 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      {dist.placements = [#dist.placement<#mesh, [8, 4], partial = sum["tp"]>]}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> loc("second")
  %2 = nn.add %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> loc("sum")
  %3 = nn.negate %2 : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("second")
  %4 = nn.exp %3 : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("act")
  return %4, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}
}

// -----

// A weight that is read otherwise than it is stored, and a gradient.
// CHECK-DAG: #dist.reason<maker = "w", readers = ["product"], reader_count = 1, role = "state", from = <#mesh, [16{"tp"}, 4]>, to = <#mesh, [16, 4]>>
// CHECK-DAG: #dist.reason<maker = "back", readers = ["g"], reader_count = 1, role = "gradient", from = <#mesh, [16, 4], partial = sum["dp"]>, to = <#mesh, [16, 4]>, summed = <#mesh, [8{"dp"}]>>
// CHECK-LABEL: func @roles
#mesh = #dist.mesh<["dp"=2, "tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @roles(%x: tensor<8x16xf32> {dist.placement = #dist.placement<#mesh, [8{"dp"}, 16]>},
                 %w: tensor<16x4xf32> {dist.placement = #dist.placement<#mesh, [16{"tp"}, 4]>, nn.name = "w",
                     nn.source = #nn.source<file = "", offset = 0, length = 256>})
    -> (tensor<8x4xf32> {nn.name = "y", dist.placement = #dist.placement<#mesh, [8{"dp"}, 4]>}, tensor<16x4xf32> {nn.name = "g"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      {dist.operands = [#dist.placement<#mesh, [8{"dp"}, 16]>, #dist.placement<#mesh, [16, 4]>]}
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> loc("product")
  %1 = nn.contract %x, %0 lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"}
      : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<16x4xf32> loc("back")
  return %0, %1 : tensor<8x4xf32>, tensor<16x4xf32>
}
}
