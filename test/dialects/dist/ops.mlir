// RUN: weft-opt --split-input-file %s | weft-opt --split-input-file | FileCheck %s
// RUN: weft-opt --split-input-file %s --mlir-print-op-generic | weft-opt --split-input-file | FileCheck %s

#mesh = #dist.mesh<["dp"=2, "tp"=4]>

// CHECK: #mesh = #dist.mesh<["dp"=2, "tp"=4]>
// CHECK: module attributes {dist.mesh = #mesh}
module attributes {dist.mesh = #mesh} {

// Every step parses and prints; the mesh prints as an alias.
// CHECK-LABEL: func @steps
func.func @steps(%x: tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>>,
                 %p: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>,
                 %u: tensor<2xf32, #dist.local<#mesh, [5{"tp"}]>>) {
  // CHECK: dist.all_gather %{{.+}} ["tp"] dim 0 : tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>> -> tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
  %0 = dist.all_gather %x ["tp"] dim 0 : tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>>
      -> tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
  // CHECK: dist.slice %{{.+}} ["dp"] dim 1
  %1 = dist.slice %0 ["dp"] dim 1 : tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
      -> tensor<8x4xf32, #dist.local<#mesh, [8, 8{"dp"}]>>
  // CHECK: dist.all_reduce %{{.+}} ["tp"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>
  %2 = dist.all_reduce %p ["tp"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>
      -> tensor<8xf32, #dist.local<#mesh, [8]>>
  // CHECK: dist.reduce_scatter %{{.+}} ["tp"] dim 0 accumulate f64
  %3 = dist.reduce_scatter %p ["tp"] dim 0 accumulate f64
      : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>
      -> tensor<2xf32, #dist.local<#mesh, [8{"tp"}]>>
  // CHECK: dist.all_to_all %{{.+}} ["tp"] gather 0 split 1
  %4 = dist.all_to_all %x ["tp"] gather 0 split 1 : tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>>
      -> tensor<8x2xf32, #dist.local<#mesh, [8, 8{"tp"}]>>
  // CHECK: dist.mask %{{.+}} : tensor<2xf32, #dist.local<#mesh, [5{"tp"}]>> -> tensor<2xf32, #dist.local<#mesh, [5{"tp"}], padding = max>>
  %5 = dist.mask %u : tensor<2xf32, #dist.local<#mesh, [5{"tp"}]>>
      -> tensor<2xf32, #dist.local<#mesh, [5{"tp"}], padding = max>>
  return
}

// CHECK-LABEL: func @localize_index
func.func @localize_index(%ids: tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>) {
  // CHECK: local_indices = [0 : 100{"dp","tp"}]
  %0 = dist.localize_index %ids : tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>
      -> tensor<4x1xi64, #dist.local<#mesh, [4, 1], local_indices = [0 : 100{"dp","tp"}]>>
  return
}

// Placements print in canonical form: 12{"tp"} * 64 is 768{"tp"}.
// CHECK-LABEL: func @reshard
// CHECK-SAME: tensor<768xf32, #dist.placement<#mesh, [768{"tp"}]>>
func.func @reshard(%x: tensor<768xf32, #dist.placement<#mesh, [12{"tp"}*64]>>) {
  // CHECK: dist.reshard %{{.+}} -> tensor<768xf32, #dist.placement<#mesh, [3*256{"tp"}]>>
  %0 = dist.reshard %x : tensor<768xf32, #dist.placement<#mesh, [12{"tp"}*64]>>
      -> tensor<768xf32, #dist.placement<#mesh, [3*256{"tp"}]>>
  return
}

// Placements as attributes, while they are being found.
// CHECK-LABEL: func @attributes
// CHECK-SAME: dist.closed, dist.placement = #dist.placement<#mesh, [8{"dp"}]>
func.func @attributes(%x: tensor<8xf32> {dist.placement = #dist.placement<#mesh, [8{"dp"}]>, dist.closed}) {
  return
}

}

// -----

// A loop over microbatches.
// CHECK: #mesh{{.*}} = #dist.mesh<["dp"=2, temporal "mb"=4]>
#mb = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mb} {
// CHECK-LABEL: func.func @loop
func.func @loop(%x: tensor<8xf32, #dist.local<#mb, [16{"dp"}]>>) -> tensor<f32, #dist.local<#mb, [], partial = sum["dp"]>> {
  // CHECK: dist.repeat "mb" {
  %1 = dist.repeat "mb" {
    // CHECK: dist.slice %{{.+}} ["mb"] dim 0
    %0 = dist.slice %x ["mb"] dim 0 : tensor<8xf32, #dist.local<#mb, [16{"dp"}]>> -> tensor<2xf32, #dist.local<#mb, [16{"dp","mb"}]>>
    %2 = nn.reduce sum %0 dims = [0] : tensor<2xf32, #dist.local<#mb, [16{"dp","mb"}]>> -> tensor<f32, #dist.local<#mb, [], partial = sum["dp","mb"]>>
    // CHECK: dist.accumulate %{{.+}} in [f32] :
    dist.accumulate %2 in [f32] : tensor<f32, #dist.local<#mb, [], partial = sum["dp","mb"]>>
  } : tensor<f32, #dist.local<#mb, [], partial = sum["dp"]>>
  // CHECK: dist.partialize %{{.+}} ["mb"]
  %3 = dist.partialize %1 ["mb"] : tensor<f32, #dist.local<#mb, [], partial = sum["dp"]>> -> tensor<f32, #dist.local<#mb, [], partial = sum["dp","mb"]>>
  return %1 : tensor<f32, #dist.local<#mb, [], partial = sum["dp"]>>
}
}

// -----

// Stages of a pipeline: what crosses a cut moves, and a sum over stages counts what several hold once.
// CHECK: #mesh{{.*}} = #dist.mesh<[stages "pp"=4, "dp"=2]>
#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
module attributes {dist.mesh = #pp} {
// CHECK-LABEL: func.func @stages
func.func @stages(%x: tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[0,3]>>) -> tensor<4xf32, #dist.local<#pp, [8{"dp"}]>> {
  // CHECK: dist.move %{{.+}} ["pp"] : {{.*}}held = "pp"[0,3]>> -> {{.*}}[8{"dp"}], held = "pp"[1,2]>>
  %0 = dist.move %x ["pp"] : tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[0,3]>> -> tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1,2]>>
  %1 = nn.exp %0 : (tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1,2]>>) -> tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[2]>>
  %2 = dist.partialize %1 ["pp"] : tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[2]>> -> tensor<4xf32, #dist.local<#pp, [8{"dp"}], partial = sum["pp"]>>
  %3 = dist.all_reduce %2 ["pp"] accumulate f32 : tensor<4xf32, #dist.local<#pp, [8{"dp"}], partial = sum["pp"]>> -> tensor<4xf32, #dist.local<#pp, [8{"dp"}]>>
  return %3 : tensor<4xf32, #dist.local<#pp, [8{"dp"}]>>
}
}

// -----

// The program of one stage: its ends of what moves, and a loop whose ops have sections that run in steps.
// CHECK: #mesh{{.*}} = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
#steps = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #steps, dist.schedule = "weft schedule 1", weft.stage = 0 : i64} {
// CHECK-LABEL: func.func @stage
func.func @stage(%x: tensor<8xf32, #dist.local<#steps, [8]>>) {
  // CHECK: dist.repeat "mb" steps [0, 0, 1, 0, 0, 1, 1, 1] {
  dist.repeat "mb" steps [0, 0, 1, 0, 0, 1, 1, 1] {
    %0 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : tensor<8xf32, #dist.local<#steps, [8]>> -> tensor<4xf32, #dist.local<#steps, [8{"mb"}]>>
    // CHECK: dist.send %{{.+}} to 1 on "x" {dist.section = 1 : i64}
    dist.send %0 to 1 on "x" {dist.section = 1 : i64} : tensor<4xf32, #dist.local<#steps, [8{"mb"}]>>
    dist.accumulate in []
  }
  // CHECK: dist.receive from 1 on "y" :
  %1 = dist.receive from 1 on "y" : tensor<8xf32, #dist.local<#steps, [8]>>
  return
}
}
