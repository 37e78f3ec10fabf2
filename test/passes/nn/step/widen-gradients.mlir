// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-widen-gradients))' | FileCheck %s

// A product of bf16 operands has an f32 result at once.
// CHECK-LABEL: func.func @product
// CHECK: %[[G:.+]] = nn.contract {{.*}} : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xf32>
// CHECK: return %[[G]]
func.func @product(%x: tensor<4x6xbf16>, %g: tensor<4x8xbf16>) -> tensor<6x8xf32> {
  %0 = nn.contract %x, %g lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
  %1 = nn.cast %0 {nn.role = "weight_gradient"} : (tensor<6x8xbf16>) -> tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}

// A sum over the batch and the sum of two uses add in f32; the cast ends where activations begin.
// CHECK-LABEL: func.func @sums
// CHECK: %[[WIDE:.+]] = nn.cast %{{.+}} : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK: %[[SUM:.+]] = nn.reduce sum %[[WIDE]] dims = [0]
// CHECK: nn.add %[[SUM]], %{{.+}} : tensor<8xf32>
// CHECK-NOT: tensor<8xbf16>
// CHECK: return
func.func @sums(%g: tensor<4x8xbf16>, %h: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.reduce sum %g dims = [0] {nn.role = "weight_gradient"} : tensor<4x8xbf16> -> tensor<8xbf16>
  %1 = nn.cast %h {nn.role = "weight_gradient"} : (tensor<8xf32>) -> tensor<8xbf16>
  %2 = nn.add %0, %1 {nn.role = "weight_gradient"} : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %3 = nn.cast %2 {nn.role = "weight_gradient"} : (tensor<8xbf16>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// What activations need, too, keeps its type.
// CHECK-LABEL: func.func @shared
// CHECK: nn.contract {{.*}} -> tensor<6x8xbf16>
// CHECK: nn.cast
func.func @shared(%x: tensor<4x6xbf16>, %g: tensor<4x8xbf16>) -> (tensor<6x8xf32>, tensor<6x8xbf16>) {
  %0 = nn.contract %x, %g lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
  %1 = nn.cast %0 {nn.role = "weight_gradient"} : (tensor<6x8xbf16>) -> tensor<6x8xf32>
  return %1, %0 : tensor<6x8xf32>, tensor<6x8xbf16>
}

// The zeros that a lookup's gradient is added to stay a constant, however many: any other operand would forbid to split the batch.
// CHECK-LABEL: func.func @lookup
// CHECK: %[[ZERO:.+]] = nn.constant dense<0.000000e+00> : tensor<4096x1024xf32>
// CHECK: nn.scatter add %[[ZERO]], %{{.+}}, %{{.+}} indexed = [0]
func.func @lookup(%ids: tensor<4x1xi64>, %g: tensor<4x1024xbf16>) -> tensor<4096x1024xf32> {
  %zero = nn.constant dense<0.0> : tensor<4096x1024xbf16> : tensor<4096x1024xbf16>
  %0 = nn.scatter add %zero, %ids, %g indexed = [0] operand_batch = [] indices_batch = [] {nn.role = "weight_gradient"}
    : (tensor<4096x1024xbf16>, tensor<4x1xi64>, tensor<4x1024xbf16>) -> tensor<4096x1024xbf16>
  %1 = nn.cast %0 {nn.role = "weight_gradient"} : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
  return %1 : tensor<4096x1024xf32>
}

// Each of several readers may have a cast of its own.
// CHECK-LABEL: func.func @readers
// CHECK: %[[G:.+]] = nn.contract {{.*}} -> tensor<6x8xf32>
// CHECK-NEXT: return %[[G]], %[[G]]
func.func @readers(%x: tensor<4x6xbf16>, %g: tensor<4x8xbf16>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %0 = nn.contract %x, %g lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<4x6xbf16>, tensor<4x8xbf16>) -> tensor<6x8xbf16>
  %1 = nn.cast %0 {nn.role = "weight_gradient"} : (tensor<6x8xbf16>) -> tensor<6x8xf32>
  %2 = nn.cast %0 {nn.role = "weight_gradient"} : (tensor<6x8xbf16>) -> tensor<6x8xf32>
  return %1, %2 : tensor<6x8xf32>, tensor<6x8xf32>
}
