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

// Sums over rows have groups of rows where the kernel that makes these makes something else: whole dims, and a divisor of the one
// behind. Small floats are added up in f32.
// CHECK-LABEL: @row_groups
func.func @row_groups(%x: tensor<8x1024x64xbf16>) -> (tensor<8x1024x64xbf16>, tensor<64xf32>, tensor<64xbf16>) {
  %0 = nn.exp %x : (tensor<8x1024x64xbf16>) -> tensor<8x1024x64xbf16>
  // CHECK: %[[WIDE:.+]] = nn.cast
  %1 = nn.cast %0 : (tensor<8x1024x64xbf16>) -> tensor<8x1024x64xf32>
  // CHECK: %[[ROWS:.+]] = nn.reshape %[[WIDE]] {nn.role = "weight_gradient"} : tensor<8x1024x64xf32> -> tensor<8x8x128x64xf32>
  // CHECK: %[[SUMS:.+]] = nn.reduce sum %[[ROWS]] dims = [2] {nn.role = "weight_gradient"} : tensor<8x8x128x64xf32> -> tensor<8x8x64xf32>
  // CHECK: nn.reduce sum %[[SUMS]] dims = [0, 1] {nn.role = "weight_gradient"} : tensor<8x8x64xf32> -> tensor<64xf32>
  %2 = nn.reduce sum %1 dims = [0, 1] {nn.role = "weight_gradient"} : tensor<8x1024x64xf32> -> tensor<64xf32>
  // CHECK: nn.reduce sum %{{.+}} dims = [2] : tensor<8x8x128x64xf32> -> tensor<8x8x64xf32>
  // CHECK: nn.reduce sum %{{.+}} dims = [0, 1] : tensor<8x8x64xf32> -> tensor<64xf32>
  // CHECK: nn.cast %{{.+}} : (tensor<64xf32>) -> tensor<64xbf16>
  %3 = nn.reduce sum %0 dims = [0, 1] : tensor<8x1024x64xbf16> -> tensor<64xbf16>
  return %0, %2, %3 : tensor<8x1024x64xbf16>, tensor<64xf32>, tensor<64xbf16>
}

// A group's rows take half of the chip: 256 KiB here.
// CHECK-LABEL: @wide_rows
func.func @wide_rows(%x: tensor<2048x1024xf32>) -> (tensor<2048x1024xf32>, tensor<1024xf32>) {
  %0 = nn.exp %x : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  // CHECK: nn.reshape %{{.+}} : tensor<2048x1024xf32> -> tensor<64x32x1024xf32>
  %1 = nn.reduce sum %0 dims = [0] : tensor<2048x1024xf32> -> tensor<1024xf32>
  return %0, %1 : tensor<2048x1024xf32>, tensor<1024xf32>
}

// What nothing else is made of stays, what a product makes, what has few rows, and rows of which few fit.
// CHECK-LABEL: @whole_columns
func.func @whole_columns(%x: tensor<512x512xf32>, %y: tensor<8x8192xf32>, %z: tensor<1024x16384xf32>)
    -> (tensor<512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<8x8192xf32>, tensor<8192xf32>, tensor<1024x16384xf32>, tensor<16384xf32>) {
  // CHECK-NOT: nn.reshape
  %0 = nn.exp %x : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = nn.reduce sum %0 dims = [0] : tensor<512x512xf32> -> tensor<512xf32>
  %2 = nn.contract %x, %x lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = nn.reduce sum %2 dims = [0] : tensor<512x512xf32> -> tensor<512xf32>
  %4 = nn.exp %y : (tensor<8x8192xf32>) -> tensor<8x8192xf32>
  %5 = nn.reduce sum %4 dims = [0] : tensor<8x8192xf32> -> tensor<8192xf32>
  %6 = nn.exp %z : (tensor<1024x16384xf32>) -> tensor<1024x16384xf32>
  %7 = nn.reduce sum %6 dims = [0] : tensor<1024x16384xf32> -> tensor<16384xf32>
  return %1, %2, %3, %4, %5, %6, %7 : tensor<512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<8x8192xf32>, tensor<8192xf32>, tensor<1024x16384xf32>, tensor<16384xf32>
}
