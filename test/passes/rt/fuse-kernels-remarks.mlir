// RUN: weft-opt %s --rt-fuse-kernels --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// What runs slower than the model suggests is told, at the op.

// CHECK: remark: [Missed] generated
// CHECK-SAME: runs as generated code: target 'cpu' has no library call for it with these types and layouts
func.func @mixed(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf64> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f64
    : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf64>
  return %0 : tensor<4x4xf64>
}

// CHECK: remark: [Missed] copied
// CHECK-SAME: operand 0 is copied, to lie in memory of its own
func.func @argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK: remark: [Missed] copied
// CHECK-SAME: is copied: what reads it cannot read the strides that it has
func.func @transposed(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = nn.transpose %x permutation = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// What lies between two kernels needs one and is needed by the other.
// CHECK: remark: [Missed] apart
// CHECK-SAME: is no kernel with 'nn.exp', whose result goes through memory: something between them needs one and is needed by the other
func.func @between(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = nn.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = nn.contract %0, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = nn.sub %0, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// Rows of one are columns of the other.
// CHECK: remark: [Missed] apart
// CHECK-SAME: they can be cut together into 1 part only, 16 keep all of the chip busy"
func.func @turned(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = nn.exp %x : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = nn.transpose %0 permutation = [1, 0] : tensor<256x256xf32> -> tensor<256x256xf32>
  %2 = nn.add %1, %y : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
}

// A row of both is larger than the chip's memory.
// CHECK: remark: [Missed] apart
// CHECK-SAME: a part of both holds 33554432 bytes, the chip 524288"
func.func @rows(%x: tensor<64x4194304xf32>) -> tensor<64x4194304xf32> {
  %0 = nn.exp %x : (tensor<64x4194304xf32>) -> tensor<64x4194304xf32>
  %1 = nn.softmax %0 dim = 1 : (tensor<64x4194304xf32>) -> tensor<64x4194304xf32>
  return %1 : tensor<64x4194304xf32>
}

// A consumer that reads a producer twice is told of it once.
// CHECK-NOT: remark: 
// CHECK: remark: [Missed] apart
// CHECK-SAME: they can be cut together into 1 part only
// CHECK-NOT: remark: 
func.func @square(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = nn.exp %x : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = nn.transpose %0 permutation = [1, 0] : tensor<256x256xf32> -> tensor<256x256xf32>
  %2 = nn.mul %1, %1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
}
