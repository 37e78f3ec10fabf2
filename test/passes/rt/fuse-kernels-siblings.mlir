// RUN: weft-opt %s --rt-fuse-kernels --split-input-file | FileCheck %s
// Kernels that read the same value are one, where that keeps nothing longer.

// A product of values has two gradients that read %g. A library reads the first, and the second goes on: both are made when
// the first is wanted, and what is kept for the time of that product is the second instead of %g.
// CHECK-LABEL: func.func @gradients
// CHECK: %[[G:.+]] = rt.fusion library(%arg0, %arg1 :
// CHECK: %[[BOTH:.+]]:2 = rt.fusion kernel(%[[G]], %arg2, %arg3 :
// CHECK: rt.fusion library(%arg0, %[[BOTH]]#0 :
// CHECK-NOT: rt.fusion
// CHECK: return %[[BOTH]]#1
func.func @gradients(%dy: tensor<256x64xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>, %u: tensor<256x256xbf16>) -> (tensor<256x256xbf16>, tensor<64x256xbf16>) {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xbf16>
  %du = nn.mul %g, %s : tensor<256x256xbf16>
  %ds = nn.mul %g, %u : tensor<256x256xbf16>
  %dw = nn.contract %dy, %du lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %dx = nn.tanh %ds : tensor<256x256xbf16>
  return %dx, %dw : tensor<256x256xbf16>, tensor<64x256xbf16>
}

// -----

// Not so where %g is kept anyway, or the second is larger: there would be more in memory while the product runs.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-2: rt.fusion kernel
// CHECK-LABEL: func.func @larger
// CHECK-COUNT-2: rt.fusion kernel
func.func @kept(%dy: tensor<256x64xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>, %u: tensor<256x256xbf16>) -> (tensor<256x256xbf16>, tensor<64x256xbf16>, tensor<256x256xbf16>) {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xbf16>
  %du = nn.mul %g, %s : tensor<256x256xbf16>
  %ds = nn.mul %g, %u : tensor<256x256xbf16>
  %dw = nn.contract %dy, %du lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %dx = nn.tanh %ds : tensor<256x256xbf16>
  return %dx, %dw, %g : tensor<256x256xbf16>, tensor<64x256xbf16>, tensor<256x256xbf16>
}
func.func @larger(%dy: tensor<256x64xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>, %u: tensor<256x256xbf16>) -> (tensor<256x256xf32>, tensor<64x256xbf16>) {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xbf16>
  %du = nn.mul %g, %s : tensor<256x256xbf16>
  %ds = nn.mul %g, %u : tensor<256x256xbf16>
  %dw = nn.contract %dy, %du lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %dx = nn.cast %ds : (tensor<256x256xbf16>) -> tensor<256x256xf32>
  return %dx, %dw : tensor<256x256xf32>, tensor<64x256xbf16>
}

// -----

// Nor where the second needs what is made later: with the first it would wait for that, and for itself where that is made of the first.
// CHECK-LABEL: func.func @waits
// CHECK: rt.fusion kernel
// CHECK: rt.fusion library
// CHECK: rt.fusion kernel
// CHECK-LABEL: func.func @waits_for_itself
// CHECK: rt.fusion kernel
// CHECK: rt.fusion library
// CHECK: rt.fusion kernel
func.func @waits(%dy: tensor<256x64xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>) -> (tensor<256x256xbf16>, tensor<256x256xbf16>) {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xbf16>
  %du = nn.mul %g, %s : tensor<256x256xbf16>
  %p = nn.contract %s, %s lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %ds = nn.mul %g, %p : tensor<256x256xbf16>
  return %du, %ds : tensor<256x256xbf16>, tensor<256x256xbf16>
}
func.func @waits_for_itself(%dy: tensor<256x64xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>) -> tensor<256x256xbf16> {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xbf16>
  %du = nn.mul %g, %s : tensor<256x256xbf16>
  %p = nn.contract %du, %s lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %ds = nn.mul %g, %p : tensor<256x256xbf16>
  return %ds : tensor<256x256xbf16>
}

// -----

// Nor where both would be in one piece: sums over columns need all rows, which a maximum of each is made of one by one.
// CHECK-LABEL: func.func @pieces
// CHECK-COUNT-2: rt.fusion kernel
func.func @pieces(%dy: tensor<256x64xf32>, %w: tensor<64x256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %0 = nn.reduce max %g dims = [1] : tensor<256x256xf32> -> tensor<256xf32>
  %1 = nn.reduce sum %g dims = [0] : tensor<256x256xf32> -> tensor<256xf32>
  return %0, %1 : tensor<256xf32>, tensor<256xf32>
}

// -----

// Nor where what comes of the second leads, through a kernel that was begun before, to what the first reads.
// CHECK-LABEL: func.func @around
// CHECK-COUNT-3: rt.fusion kernel
func.func @around(%dy: tensor<256x64xf32>, %v: tensor<64x256xf32>, %p: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>) {
  %g = nn.contract %dy, %v lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %x1 = nn.exp %p : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %t = nn.transpose %x1 permutation = [1, 0] : tensor<256x256xf32> -> tensor<256x256xf32>
  %a1 = nn.mul %g, %t : tensor<256x256xf32>
  %b1 = nn.tanh %g : tensor<256x256xf32>
  %y = nn.contract %b1, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %x2 = nn.mul %x1, %y : tensor<256x256xf32>
  return %a1, %x2 : tensor<256x256xf32>, tensor<256x256xf32>
}

// -----

// Nor where a product between them reads the value, too: it would be kept for that beside the second.
// CHECK-LABEL: func.func @read_between
// CHECK-COUNT-2: rt.fusion kernel
func.func @read_between(%dy: tensor<256x64xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>, %u: tensor<256x256xbf16>) -> (tensor<256x256xbf16>, tensor<64x256xbf16>, tensor<64x256xbf16>) {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xbf16>
  %du = nn.mul %g, %s : tensor<256x256xbf16>
  %dv = nn.contract %dy, %g lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %ds = nn.mul %g, %u : tensor<256x256xbf16>
  %dw = nn.contract %dy, %du lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %dx = nn.tanh %ds : tensor<256x256xbf16>
  return %dx, %dv, %dw : tensor<256x256xbf16>, tensor<64x256xbf16>, tensor<64x256xbf16>
}

// -----

// Nor where a kernel behind both reads it, which cannot run with them: it is kept for that one in any case.
// CHECK-LABEL: func.func @read_behind
// CHECK-COUNT-3: rt.fusion kernel
func.func @read_behind(%dy: tensor<256x64xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>, %u: tensor<256x256xbf16>) -> (tensor<256x256xbf16>, tensor<64x256xbf16>, tensor<256x256xbf16>) {
  %g = nn.contract %dy, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<64x256xbf16>) -> tensor<256x256xbf16>
  %du = nn.mul %g, %s : tensor<256x256xbf16>
  %dw = nn.contract %dy, %du lhs = [2, 0] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x64xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %ds = nn.mul %g, %u : tensor<256x256xbf16>
  %dx = nn.tanh %ds : tensor<256x256xbf16>
  %p = nn.contract %du, %s lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %dt = nn.mul %g, %p : tensor<256x256xbf16>
  return %dx, %dw, %dt : tensor<256x256xbf16>, tensor<64x256xbf16>, tensor<256x256xbf16>
}
