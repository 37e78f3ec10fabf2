// RUN: weft-opt %s --rt-separate-norms | FileCheck %s
// RUN: weft-opt %s --rt-separate-norms --rt-fuse-kernels | FileCheck %s --check-prefix=FUSED

// The norm of a gradient and its update both widen it, each for itself; nothing is left over, and what only the update
// reads stands with it.
// CHECK-LABEL: func.func @norm_and_update
// CHECK-NEXT: %[[OTHER:.+]] = nn.cast %arg0
// CHECK-NEXT: %[[SQUARE:.+]] = nn.mul %[[OTHER]], %[[OTHER]]
// CHECK-NEXT: nn.reduce sum %[[SQUARE]]
// CHECK-NEXT: %[[OWN:.+]] = nn.cast %arg0
// CHECK-NEXT: nn.sub %arg1, %[[OWN]]
// CHECK-NEXT: return
// FUSED-LABEL: func.func @norm_and_update
// FUSED-COUNT-2: rt.fusion kernel
// FUSED-NOT: rt.fusion
// FUSED: return
func.func @norm_and_update(%g: tensor<512x64xbf16>, %w: tensor<512x64xf32>) -> (tensor<f32>, tensor<512x64xf32>) {
  %0 = nn.cast %g {nn.role = "optimizer"} : (tensor<512x64xbf16>) -> tensor<512x64xf32>
  %1 = nn.mul %0, %0 {nn.role = "optimizer"} : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %2 = nn.reduce sum %1 dims = [0, 1] {nn.role = "optimizer"} : tensor<512x64xf32> -> tensor<f32>
  %3 = nn.sub %w, %0 {nn.role = "optimizer"} : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %2, %3 : tensor<f32>, tensor<512x64xf32>
}

// Of a chain each op stands in front of the next, and of two in front of one the later one first.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[A:.+]] = nn.cast
// CHECK-NEXT: %[[B:.+]] = nn.mul %[[A]], %[[A]]
// CHECK-NEXT: nn.reduce sum %[[B]]
// CHECK-NEXT: nn.sqrt %arg1
// CHECK-NEXT: %[[C:.+]] = nn.cast
// CHECK-NEXT: %[[D:.+]] = nn.mul %[[C]], %[[C]]
// CHECK-NEXT: nn.add %[[C]], %[[D]]
// CHECK-NEXT: return
func.func @chain(%g: tensor<8xbf16>, %n: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>) {
  %0 = nn.cast %g {nn.role = "optimizer"} : (tensor<8xbf16>) -> tensor<8xf32>
  %1 = nn.mul %0, %0 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.reduce sum %1 dims = [0] {nn.role = "optimizer"} : tensor<8xf32> -> tensor<f32>
  %3 = nn.sqrt %n {nn.role = "optimizer"} : (tensor<f32>) -> tensor<f32>
  %4 = nn.add %0, %1 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2, %3, %4 : tensor<f32>, tensor<f32>, tensor<8xf32>
}

// What is no pointwise op of the optimizer is made once: a gradient, and a number.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-1: nn.exp
// CHECK-NOT: nn.exp
// CHECK-COUNT-1: nn.sqrt
// CHECK-NOT: nn.sqrt
// CHECK: return
func.func @shared(%x: tensor<4xf32>, %n: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>) {
  %0 = nn.exp %x {nn.role = "weight_gradient"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.reduce sum %0 dims = [0] {nn.role = "optimizer"} : tensor<4xf32> -> tensor<f32>
  %2 = nn.sqrt %n {nn.role = "optimizer"} : (tensor<f32>) -> tensor<f32>
  %3 = nn.add %1, %2 {nn.role = "optimizer"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %3, %2, %0 : tensor<f32>, tensor<f32>, tensor<4xf32>
}

// Ways that part and meet again lead through one copy of each op; what only the sum reads is no copy.
// CHECK-LABEL: func.func @diamonds
// CHECK-COUNT-3: nn.mul
// CHECK: nn.reduce sum
// CHECK-COUNT-3: nn.mul
// CHECK-NOT: nn.mul
// CHECK: return
// CHECK-LABEL: func.func @own_diamonds
// CHECK-COUNT-3: nn.mul
// CHECK-NOT: nn.mul
// CHECK: return
func.func @diamonds(%s: tensor<8xf32>, %w: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  %0 = nn.mul %s, %w {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.add %0, %s {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.mul %1, %w {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = nn.add %2, %1 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = nn.mul %3, %w {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = nn.add %4, %3 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = nn.reduce sum %5 dims = [0] {nn.role = "optimizer"} : tensor<8xf32> -> tensor<f32>
  %7 = nn.sub %w, %5 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %6, %7 : tensor<f32>, tensor<8xf32>
}
func.func @own_diamonds(%s: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<f32> {
  %0 = nn.mul %s, %w {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.add %0, %s {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.mul %1, %w {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = nn.add %2, %1 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = nn.mul %3, %w {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = nn.add %4, %3 {nn.role = "optimizer"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = nn.reduce sum %5 dims = [0] {nn.role = "optimizer"} : tensor<8xf32> -> tensor<f32>
  return %6 : tensor<f32>
}
