// RUN: weft-opt %s --rt-hoist-constants | FileCheck %s

// A table that a routine reads is an argument of it, and stands once in each program, whatever calls pass it.
// What nothing reads goes.
// CHECK-LABEL: func.func private @block
// CHECK-SAME: (%[[X:.+]]: tensor<2xf32>, %[[T:.+]]: tensor<2xf32>, %[[C:.+]]: tensor<1xi64>) -> tensor<2xf32>
// CHECK-NEXT: rt.call @k(%[[X]], %[[T]], %[[C]])
// CHECK-NEXT: return
func.func private @block(%x: tensor<2xf32>) -> tensor<2xf32> attributes {rt.routine} {
  %t = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %unused = nn.constant dense<[3.0, 4.0]> : tensor<2xf32> : tensor<2xf32>
  %c = rt.coordinate "tp" : tensor<1xi64>
  %0 = rt.call @k(%x, %t, %c) : (tensor<2xf32>, tensor<2xf32>, tensor<1xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @k(tensor<2xf32>, tensor<2xf32>, tensor<1xi64>) -> tensor<2xf32>

// CHECK-LABEL: func.func @p
// CHECK-SAME: (%[[X:.+]]: tensor<2xf32>)
// CHECK-DAG: %[[T:.+]] = nn.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: %[[C:.+]] = rt.coordinate "tp"
// CHECK: %[[A:.+]] = rt.call @block(%[[X]], %[[T]], %[[C]]) {label = "h.0"}
// CHECK-NEXT: %[[B:.+]] = rt.call @block(%[[A]], %[[T]], %[[C]]) {label = "h.1"}
// CHECK-NEXT: return %[[B]]
func.func @p(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = rt.call @block(%x) {label = "h.0"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = rt.call @block(%0) {label = "h.1"} : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
