// RUN: weft-opt %s --rt-materialize-device-bodies | FileCheck %s

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// The coordinate is read in the element's code, from a tensor that a state
// split over the axis will hold.
// CHECK-LABEL: func.func @mask
// CHECK: %[[C:.+]] = rt.coordinate "tp" : tensor<1xi64>
// CHECK: rt.body(%arg0, %[[C]]
// CHECK: linalg.generic
// CHECK: tensor.extract
// CHECK: rt.yield
// CHECK-NOT: dist.mask
func.func @mask(%x: tensor<3xf32, #dist.local<#mesh, [5{"tp"} ]>>) -> tensor<3xf32, #dist.local<#mesh, [5{"tp"} ], padding = sum>> {
  %0 = dist.mask %x : tensor<3xf32, #dist.local<#mesh, [5{"tp"} ]>> -> tensor<3xf32, #dist.local<#mesh, [5{"tp"} ], padding = sum>>
  return %0 : tensor<3xf32, #dist.local<#mesh, [5{"tp"} ], padding = sum>>
}
}
