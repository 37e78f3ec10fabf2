// RUN: weft-opt %s --rt-fuse-kernels --split-input-file | FileCheck %s
// Where the forward pass turns into the backward pass, a gradient joins the kernel whose values it reads.

// Losses of rows and their gradient read the logits once.
// CHECK-LABEL: func.func @loss
// CHECK: %[[BOTH:.+]]:2 = rt.fusion kernel(%arg0, %arg1 : {{.*}}) -> (tensor<64xf32>, tensor<64x8192xbf16>) attributes {rt.roles = ["", "input_gradient"]}
// CHECK-NOT: rt.fusion
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @loss(%x: tensor<64x8192xbf16>, %seed: tensor<64xf32>) -> (tensor<64xf32>, tensor<64x8192xbf16>) {
  %0 = nn.cast %x : (tensor<64x8192xbf16>) -> tensor<64x8192xf32>
  %1 = nn.exp %0 : (tensor<64x8192xf32>) -> tensor<64x8192xf32>
  %2 = nn.reduce sum %1 dims = [1] : tensor<64x8192xf32> -> tensor<64xf32>
  %3 = nn.log %2 : (tensor<64xf32>) -> tensor<64xf32>
  %4 = nn.broadcast %3 dims = [0] {nn.role = "input_gradient"} : tensor<64xf32> -> tensor<64x8192xf32>
  %5 = nn.sub %0, %4 {nn.role = "input_gradient"} : tensor<64x8192xf32>
  %6 = nn.broadcast %seed dims = [0] {nn.role = "input_gradient"} : tensor<64xf32> -> tensor<64x8192xf32>
  %7 = nn.mul %5, %6 {nn.role = "input_gradient"} : tensor<64x8192xf32>
  %8 = nn.cast %7 {nn.role = "input_gradient"} : (tensor<64x8192xf32>) -> tensor<64x8192xbf16>
  return %3, %8 : tensor<64xf32>, tensor<64x8192xbf16>
}

// -----

// The seed is made of the loss, so the gradient waits for it: whole, not with the half that could be made before.
// CHECK-LABEL: func.func @waits
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<64xf32>)
// CHECK: %[[SEED:.+]] = rt.fusion kernel({{.*}}) -> (tensor<f32>)
// CHECK: rt.fusion kernel({{.*}}%[[SEED]]{{.*}}) -> (tensor<64x8192xbf16>)
// CHECK-NOT: rt.fusion
// CHECK: return
func.func @waits(%x: tensor<64x8192xbf16>) -> (tensor<f32>, tensor<64x8192xbf16>) {
  %0 = nn.cast %x : (tensor<64x8192xbf16>) -> tensor<64x8192xf32>
  %1 = nn.exp %0 : (tensor<64x8192xf32>) -> tensor<64x8192xf32>
  %2 = nn.reduce sum %1 dims = [1] : tensor<64x8192xf32> -> tensor<64xf32>
  %3 = nn.reduce sum %2 dims = [0] : tensor<64xf32> -> tensor<f32>
  %4 = nn.exp %0 {nn.role = "input_gradient"} : (tensor<64x8192xf32>) -> tensor<64x8192xf32>
  %5 = nn.broadcast %3 dims = [] {nn.role = "input_gradient"} : tensor<f32> -> tensor<64x8192xf32>
  %6 = nn.mul %4, %5 {nn.role = "input_gradient"} : tensor<64x8192xf32>
  %7 = nn.cast %6 {nn.role = "input_gradient"} : (tensor<64x8192xf32>) -> tensor<64x8192xbf16>
  return %3, %7 : tensor<f32>, tensor<64x8192xbf16>
}

// -----

// A product stands between: what the gradient makes would be kept while it runs. Microbatches come one after the other.
// CHECK-LABEL: func.func @product
// CHECK-COUNT-2: rt.fusion kernel
// CHECK-LABEL: func.func @microbatches
// CHECK-COUNT-2: rt.fusion kernel
func.func @product(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = nn.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = nn.contract %0, %x lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = nn.tanh %0 {nn.role = "input_gradient"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}
func.func @microbatches(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = nn.exp %x {rt.microbatch = 0 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = nn.tanh %0 {nn.role = "input_gradient", rt.microbatch = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}
