// RUN: weft-opt %s --rt-split-reductions | FileCheck %s

// A sum over everything has the parts that leading dims have, as many as threads may want.
// CHECK-LABEL: @everything
func.func @everything(%x: tensor<64x12x100xf32>) -> tensor<f32> {
  // CHECK: %[[PARTS:.+]] = nn.reshape %{{.+}} : tensor<64x12x100xf32> -> tensor<64x1200xf32>
  // CHECK: %[[SUMS:.+]] = nn.reduce sum %[[PARTS]] dims = [1] {nn.role = "optimizer"} : tensor<64x1200xf32> -> tensor<64xf32>
  // CHECK: nn.reduce sum %[[SUMS]] dims = [0] {nn.role = "optimizer"} : tensor<64xf32> -> tensor<f32>
  %0 = nn.reduce sum %x dims = [0, 1, 2] {nn.role = "optimizer"} : tensor<64x12x100xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// Statistics of channels: first each image's.
// CHECK-LABEL: @channels
func.func @channels(%x: tensor<16x64x8x8xf32>) -> tensor<64xf32> {
  // CHECK: nn.reshape %{{.+}} : tensor<16x64x8x8xf32> -> tensor<16x64x64xf32>
  // CHECK: nn.reduce sum %{{.+}} dims = [2] : tensor<16x64x64xf32> -> tensor<16x64xf32>
  // CHECK: nn.reduce sum %{{.+}} dims = [0] : tensor<16x64xf32> -> tensor<64xf32>
  %0 = nn.reduce sum %x dims = [0, 2, 3] : tensor<16x64x8x8xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Sums of small floats are rounded once; the greatest of them never is.
// CHECK-LABEL: @narrow
func.func @narrow(%x: tensor<512x512xbf16>) -> (tensor<bf16>, tensor<bf16>) {
  // CHECK: nn.cast %{{.+}} : (tensor<512x512xbf16>) -> tensor<512x512xf32>
  // CHECK: nn.reduce sum %{{.+}} dims = [1] : tensor<512x512xf32> -> tensor<512xf32>
  // CHECK: nn.reduce sum %{{.+}} dims = [0] : tensor<512xf32> -> tensor<f32>
  // CHECK: nn.cast %{{.+}} : (tensor<f32>) -> tensor<bf16>
  %0 = nn.reduce sum %x dims = [0, 1] : tensor<512x512xbf16> -> tensor<bf16>
  // CHECK: nn.reduce max %{{.+}} dims = [1] : tensor<512x512xbf16> -> tensor<512xbf16>
  // CHECK: nn.reduce max %{{.+}} dims = [0] : tensor<512xbf16> -> tensor<bf16>
  %1 = nn.reduce max %x dims = [0, 1] : tensor<512x512xbf16> -> tensor<bf16>
  return %0, %1 : tensor<bf16>, tensor<bf16>
}

// What is small, has parts along its first dim, or is cut along columns stays; so does what has no divisor.
// CHECK-LABEL: @stay
func.func @stay(%a: tensor<8x8xf32>, %b: tensor<512x512xf32>, %c: tensor<1048573xf32>)
    -> (tensor<f32>, tensor<512xf32>, tensor<512xf32>, tensor<f32>) {
  // CHECK-NOT: nn.reshape
  %0 = nn.reduce sum %a dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %1 = nn.reduce sum %b dims = [1] : tensor<512x512xf32> -> tensor<512xf32>
  %2 = nn.reduce sum %b dims = [0] : tensor<512x512xf32> -> tensor<512xf32>
  %3 = nn.reduce sum %c dims = [0] : tensor<1048573xf32> -> tensor<f32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<512xf32>, tensor<512xf32>, tensor<f32>
}
