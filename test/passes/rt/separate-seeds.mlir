// RUN: weft-opt %s --rt-separate-seeds --split-input-file | FileCheck %s
// A gradient counts for itself what it is divided by, so that it does not wait for the loss.

// Which labels count, and how many, is made twice: for the loss, and for the number that the gradient reads.
// CHECK-LABEL: func.func @count
// CHECK: %[[VALID:.+]] = nn.compare
// CHECK-NEXT: %[[OWN:.+]] = nn.compare
// CHECK-NEXT: %[[LOSSES:.+]] = nn.select %[[VALID]]
// CHECK: %[[ONES:.+]] = nn.cast %[[VALID]]
// CHECK-NEXT: %[[OWN_ONES:.+]] = nn.cast %[[OWN]]
// CHECK-NEXT: %[[COUNT:.+]] = nn.reduce sum %[[ONES]]
// CHECK-NEXT: %[[OWN_COUNT:.+]] = nn.reduce sum %[[OWN_ONES]]
// CHECK-NEXT: %[[SUM:.+]] = nn.reduce sum %[[LOSSES]]
// CHECK-NEXT: %[[MOST:.+]] = nn.max %[[COUNT]], %arg2
// CHECK-NEXT: %[[SEED:.+]] = nn.max %[[OWN_COUNT]], %arg2
// CHECK-NEXT: nn.div %[[SUM]], %[[MOST]]
// CHECK-NEXT: nn.div %arg2, %[[SEED]]
func.func @count(%x: tensor<8xf32>, %l: tensor<8xi64>, %one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %none = nn.constant dense<-100> : tensor<8xi64> : tensor<8xi64>
  %zero = nn.constant dense<0.0> : tensor<8xf32> : tensor<8xf32>
  %0 = nn.compare ne %l, %none : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
  %1 = nn.select %0, %x, %zero : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.cast %0 : (tensor<8xi1>) -> tensor<8xf32>
  %3 = nn.reduce sum %2 dims = [0] : tensor<8xf32> -> tensor<f32>
  %4 = nn.reduce sum %1 dims = [0] : tensor<8xf32> -> tensor<f32>
  %5 = nn.max %3, %one : tensor<f32>
  %6 = nn.div %4, %5 : tensor<f32>
  %7 = nn.div %one, %5 {nn.role = "input_gradient"} : tensor<f32>
  return %6, %7 : tensor<f32>, tensor<f32>
}

// -----

// Communication stays one; what it sends is made for it alone, and what it brings is read twice.
#mesh = #dist.mesh<["dp"=2]>
!part = tensor<f32, #dist.local<#mesh, [], partial = sum["dp"]>>
!whole = tensor<f32, #dist.local<#mesh, []>>
module attributes {dist.mesh = #mesh} {
// CHECK-LABEL: func.func @sent
// CHECK: %[[OWN:.+]] = nn.add
// CHECK: dist.all_reduce
// CHECK-NOT: dist.all_reduce
// CHECK: %[[MOST:.+]] = nn.max
// CHECK-NEXT: %[[SEED:.+]] = nn.max
// CHECK-NEXT: nn.exp %[[MOST]]
// CHECK-NEXT: nn.exp %[[SEED]]
func.func @sent(%x: !part, %one: !whole) -> (!whole, !whole, !part) {
  %0 = nn.add %x, %x : (!part, !part) -> !part
  %1 = nn.negate %0 : (!part) -> !part
  %2 = dist.all_reduce %0 ["dp"] accumulate f32 : !part -> !whole
  %3 = nn.max %2, %one : (!whole, !whole) -> !whole
  %4 = nn.exp %3 : (!whole) -> !whole
  %5 = nn.exp %3 {nn.role = "input_gradient"} : (!whole) -> !whole
  return %4, %5, %1 : !whole, !whole, !part
}
}

// -----

// A number that a product makes is dear, and one that only gradients read is theirs already.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-1: nn.contract
// CHECK-NOT: nn.contract
// CHECK-COUNT-1: nn.negate
// CHECK-NOT: nn.negate
// CHECK: return
func.func @stays(%x: tensor<8xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = nn.contract %x, %x lhs = [0] rhs = [0] result = [] accumulate = f32 : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  %1 = nn.exp %0 : (tensor<f32>) -> tensor<f32>
  %2 = nn.exp %0 {nn.role = "input_gradient"} : (tensor<f32>) -> tensor<f32>
  %3 = nn.negate %y : (tensor<f32>) -> tensor<f32>
  %4 = nn.exp %3 {nn.role = "input_gradient"} : (tensor<f32>) -> tensor<f32>
  return %1, %2, %4 : tensor<f32>, tensor<f32>, tensor<f32>
}
