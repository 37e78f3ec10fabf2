// RUN: weft-opt %s --nn-raise-activations | FileCheck %s
// RUN: weft-opt %s --nn-raise-activations=exact | FileCheck %s --check-prefix=EXACT

// The order of the factors and the spelling of constants do not matter.
// CHECK-LABEL: func.func @erf
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.+]] = nn.gelu %[[X]] : tensor<4xf32>
// CHECK-NEXT: return %[[Y]]
// To be computed in f64, it is not: its root of two is that of f32.
// EXACT-LABEL: func.func @erf
// EXACT-NOT: nn.gelu
// EXACT: nn.erf
func.func @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sqrt2 = nn.constant dense<1.41421354> : tensor<4xf32> : tensor<4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %half = nn.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %0 = nn.div %x, %sqrt2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.add %1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %3, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// The leaf may itself be an elementwise op of two values.
// CHECK-LABEL: func.func @silu_of_sum
// CHECK: %[[SUM:.+]] = nn.add
// CHECK-NEXT: nn.silu %[[SUM]]
// CHECK-NEXT: return
// EXACT-LABEL: func.func @silu_of_sum
// EXACT: nn.silu
func.func @silu_of_sum(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %x = nn.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// What is only nearly GELU (x sigmoid(1.702 x)) stays as it is.
// CHECK-LABEL: func.func @quick
// CHECK-NOT: nn.gelu
// CHECK: nn.sigmoid
func.func @quick(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = nn.constant dense<1.702> : tensor<4xf32> : tensor<4xf32>
  %0 = nn.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.mul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// A bound, or what is put in the place of what is no number, is the model's own.
// CHECK-LABEL: func.func @bounded
// CHECK: nn.min
// CHECK: nn.min
func.func @bounded(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %most = nn.constant dense<100.0> : tensor<4xf32> : tensor<4xf32>
  %0 = nn.gelu %x : tensor<4xf32>
  %1 = nn.min %0, %most : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.min %x, %most : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %3, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %4 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @guarded
// CHECK: nn.select
func.func @guarded(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = nn.constant dense<0.0> : tensor<4xf32> : tensor<4xf32>
  %0 = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.compare ne %1, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = nn.select %2, %zero, %1 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
