// RUN: weft-opt %s --rt-reuse-operands | FileCheck %s

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<4xf32, #dist.local<#mesh, [4]>>
!partial = tensor<4xf32, #dist.local<#mesh, [4], partial = sum["dp"]>>
module attributes {dist.mesh = #mesh} {

// A running sum stays where it is; the input and the output have memory of
// their own.
// CHECK-LABEL: func.func @sums
// CHECK: rt.call @exp(
// CHECK: rt.call @add_0(
// CHECK: rt.call @add(
func.func @sums(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = rt.call @exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.call @add(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = rt.call @add(%x, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// What is read later, twice, or by communication is kept.
// CHECK-LABEL: func.func @keeps
// CHECK: rt.call @add(
// CHECK: rt.call @add(
// CHECK: dist.all_reduce {{.*}} ["dp"] accumulate f32 :
// CHECK: dist.all_reduce {{.*}} {rt.reuses} :
func.func @keeps(%x: !partial) -> (!whole, !whole) {
  %0 = rt.call @exp(%x) : (!partial) -> !partial
  %1 = rt.call @add(%0, %0) : (!partial, !partial) -> !partial
  %2 = rt.call @add(%x, %0) : (!partial, !partial) -> !partial
  %3 = dist.all_reduce %0 ["dp"] accumulate f32 : !partial -> !whole
  %4 = dist.all_reduce %1 ["dp"] accumulate f32 : !partial -> !whole
  %5 = rt.call @exp3(%2, %3, %4) : (!partial, !whole, !whole) -> !whole
  %6 = rt.dense %0 : !partial
  return %5, %3 : !whole, !whole
}

// The library adds to the sum where it lies, unless something reads the old one later.
// CHECK-LABEL: func.func @library
// CHECK: rt.fusion library({{.*}}) -> (tensor<4x2xf32>) {
// CHECK: rt.fusion library({{.*}}) -> (tensor<4x2xf32>) attributes {rt.in_place = array<i64: 2>} {
func.func @library(%x: tensor<4x2xf32>, %i: tensor<3x1xi64>, %u: tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = rt.dense %x : tensor<4x2xf32>
  %1 = rt.fusion library(%i, %u, %0 : tensor<3x1xi64>, tensor<3x2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>) {
  ^bb0(%a: tensor<3x1xi64>, %b: tensor<3x2xf32>, %c: tensor<4x2xf32>):
    %4 = nn.scatter add %c, %a, %b indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<4x2xf32>, tensor<3x1xi64>, tensor<3x2xf32>) -> tensor<4x2xf32>
    rt.yield %4 : tensor<4x2xf32>
  }
  %2 = rt.fusion library(%i, %u, %0 : tensor<3x1xi64>, tensor<3x2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>) {
  ^bb0(%a: tensor<3x1xi64>, %b: tensor<3x2xf32>, %c: tensor<4x2xf32>):
    %4 = nn.scatter add %c, %a, %b indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<4x2xf32>, tensor<3x1xi64>, tensor<3x2xf32>) -> tensor<4x2xf32>
    rt.yield %4 : tensor<4x2xf32>
  }
  %3 = rt.call @add2(%1, %2) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = rt.dense %3 : tensor<4x2xf32>
  return %3, %5 : tensor<4x2xf32>, tensor<4x2xf32>
}
// So does a product to its sum, but not to what it reads besides.
// CHECK-LABEL: func.func @product
// CHECK: rt.fusion library({{.*}}) -> (tensor<4x4xf32>) attributes {rt.in_place = array<i64: 2>} {
// CHECK: rt.fusion library({{.*}}) -> (tensor<4x4xf32>) {
func.func @product(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = rt.dense %x : tensor<4x4xf32>
  %1 = rt.fusion library(%x, %x, %0 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>):
    %4 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = nn.add %c, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    rt.yield %5 : tensor<4x4xf32>
  }
  %2 = rt.fusion library(%x, %1 : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %4 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = nn.add %4, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    rt.yield %5 : tensor<4x4xf32>
  }
  %3 = rt.dense %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

func.func private @add2(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>) -> tensor<4x2xf32> attributes {rt.kernel} {
  %0 = nn.add %a, %b : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// CHECK: func.func private @add_0
// CHECK-SAME: rt.in_place = array<i64: 1>
func.func private @exp(%a: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @exp3(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.softmax %a dim = 0 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.add %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
}
