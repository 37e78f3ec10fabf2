// RUN: weft-opt %s --dist-simplify-collectives --dist-verify-spmd --split-input-file | FileCheck %s

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// all_reduce and slice are reduce_scatter.
// CHECK-LABEL: func @reduce_scatter
func.func @reduce_scatter(%x: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>> {
  %0 = nn.reduce sum %x dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>>
  // CHECK: dist.reduce_scatter
  // CHECK-NEXT: return
  %1 = dist.all_reduce %0 ["tp"] accumulate f32 : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>> -> tensor<4xf32, #dist.local<#mesh, [4]>>
  %2 = dist.slice %1 ["tp"] dim 0 : tensor<4xf32, #dist.local<#mesh, [4]>> -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
  return %2 : tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A gather that is undone vanishes; one that is split elsewhere is an exchange.
// CHECK-LABEL: func @cancel
// CHECK-SAME: %[[X:.+]]: tensor<4x4xf32
func.func @cancel(%x: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> (tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>, tensor<8x2xf32, #dist.local<#mesh, [8, 4{"tp"}]>>) {
  %0 = dist.all_gather %x ["tp"] dim 0 : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
  %1 = dist.slice %0 ["tp"] dim 0 : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>
  // CHECK: %[[MOVED:.+]] = dist.all_to_all %[[X]] ["tp"] gather 0 split 1
  %2 = dist.all_gather %x ["tp"] dim 0 : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
  %3 = dist.slice %2 ["tp"] dim 1 : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> -> tensor<8x2xf32, #dist.local<#mesh, [8, 4{"tp"}]>>
  // CHECK-NEXT: return %[[X]], %[[MOVED]]
  return %1, %3 : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>, tensor<8x2xf32, #dist.local<#mesh, [8, 4{"tp"}]>>
}
}

// -----

#mesh = #dist.mesh<["tp"=4]>
module attributes {dist.mesh = #mesh} {
// A slice fills its own padding.
// CHECK-LABEL: func @fill
func.func @fill(%x: tensor<10xf32, #dist.local<#mesh, [10]>>) -> tensor<f32, #dist.local<#mesh, []>> {
  // CHECK: dist.slice %{{.+}} padding = sum>>
  // CHECK-NEXT: nn.reduce
  %0 = dist.slice %x ["tp"] dim 0 : tensor<10xf32, #dist.local<#mesh, [10]>> -> tensor<3xf32, #dist.local<#mesh, [10{"tp"}]>>
  %1 = dist.mask %0 : tensor<3xf32, #dist.local<#mesh, [10{"tp"}]>> -> tensor<3xf32, #dist.local<#mesh, [10{"tp"}], padding = sum>>
  %2 = nn.reduce sum %1 dims = [0] : tensor<3xf32, #dist.local<#mesh, [10{"tp"}], padding = sum>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
  %3 = dist.all_reduce %2 ["tp"] accumulate f32 : tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>> -> tensor<f32, #dist.local<#mesh, []>>
  return %3 : tensor<f32, #dist.local<#mesh, []>>
}
}

// -----

// What replaces steps has the maker of the first and the readers of the last.
// CHECK: #[[REASON:.+]] = #dist.reason<maker = "sums", readers = ["reads"], reader_count = 1, role = "forward", from = <#mesh, [4], partial = sum["tp"]>, to = <#mesh, [4{"tp"}]>, summed = <#mesh, [8{"tp"}]>>
// CHECK-LABEL: func @reasons
#mesh = #dist.mesh<["tp"=2]>
#first = #dist.reason<maker = "sums", readers = ["passes"], reader_count = 1, role = "forward", from = <#mesh, [4], partial = sum["tp"]>, to = <#mesh, [4]>, summed = <#mesh, [8{"tp"}]>>
#last = #dist.reason<maker = "passes", readers = ["reads"], reader_count = 1, role = "gradient", from = <#mesh, [4]>, to = <#mesh, [4{"tp"}]>>
module attributes {dist.mesh = #mesh} {
func.func @reasons(%x: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>>) -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>> {
  %0 = nn.reduce sum %x dims = [0] : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4]>> -> tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>>
  // CHECK: dist.reduce_scatter {{.*}}dist.reason = #[[REASON]]
  %1 = dist.all_reduce %0 ["tp"] accumulate f32 {dist.reason = #first} : tensor<4xf32, #dist.local<#mesh, [4], partial = sum["tp"]>> -> tensor<4xf32, #dist.local<#mesh, [4]>>
  %2 = dist.slice %1 ["tp"] dim 0 {dist.reason = #last} : tensor<4xf32, #dist.local<#mesh, [4]>> -> tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
  return %2 : tensor<2xf32, #dist.local<#mesh, [4{"tp"}]>>
}
}

// -----

// Of what is gathered for one reader and moved for another, a part crosses to the other stage, once for both.
// CHECK: #[[BOTH:.+]] = #dist.reason<maker = "makes", readers = ["product", "sum"], reader_count = 2, role = "gradient",
// CHECK-LABEL: func @moved_once
// CHECK-SAME: %[[X:.+]]: tensor<4x4xf32
#mesh = #dist.mesh<[stages "pp"=2, "tp"=2]>
#gathered = #dist.reason<maker = "makes", readers = ["product"], reader_count = 1, role = "gradient", from = <#mesh, [8{"tp"}, 4], held = "pp"[1]>, to = <#mesh, [8, 4], held = "pp"[1]>>
#whole = #dist.reason<maker = "makes", readers = ["product"], reader_count = 1, role = "gradient", from = <#mesh, [8, 4], held = "pp"[1]>, to = <#mesh, [8, 4], held = "pp"[0]>>
#part = #dist.reason<maker = "makes", readers = ["sum"], reader_count = 1, role = "gradient", from = <#mesh, [8{"tp"}, 4], held = "pp"[1]>, to = <#mesh, [8{"tp"}, 4], held = "pp"[0]>>
module attributes {dist.mesh = #mesh} {
func.func @moved_once(%x: tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4], held = "pp"[1]>>) -> (tensor<8x4xf32, #dist.local<#mesh, [8, 4], held = "pp"[0]>>, tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4], held = "pp"[0]>>) {
  %0 = dist.all_gather %x ["tp"] dim 0 {dist.reason = #gathered} : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4], held = "pp"[1]>> -> tensor<8x4xf32, #dist.local<#mesh, [8, 4], held = "pp"[1]>>
  // CHECK-NEXT: %[[MOVED:.+]] = dist.move %[[X]] ["pp"] {dist.reason = #[[BOTH]]}
  // CHECK-NEXT: %[[WHOLE:.+]] = dist.all_gather %[[MOVED]] ["tp"] dim 0
  %1 = dist.move %0 ["pp"] {dist.reason = #whole} : tensor<8x4xf32, #dist.local<#mesh, [8, 4], held = "pp"[1]>> -> tensor<8x4xf32, #dist.local<#mesh, [8, 4], held = "pp"[0]>>
  %2 = dist.move %x ["pp"] {dist.reason = #part} : tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4], held = "pp"[1]>> -> tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4], held = "pp"[0]>>
  // CHECK-NEXT: return %[[WHOLE]], %[[MOVED]]
  return %1, %2 : tensor<8x4xf32, #dist.local<#mesh, [8, 4], held = "pp"[0]>>, tensor<4x4xf32, #dist.local<#mesh, [8{"tp"}, 4], held = "pp"[0]>>
}
}
