// RUN: weft-opt %s --rt-fuse-kernels --split-input-file | FileCheck %s
// Elementwise ops whose result kernels alone read are computed again by each that does, where it reads less so.

// One kernel for all of these rows would hold two dear values of 100,000 numbers each. The f32 copy of %x and its
// difference from the greatest are written by none: the second kernel reads %x itself, and one number a row.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.+]]: tensor<64x100000xbf16>)
// CHECK: %[[FIRST:.+]]:2 = rt.fusion kernel(%[[X]] : {{.*}} -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: nn.exp
// CHECK: %[[SECOND:.+]] = rt.fusion kernel(%[[X]], %[[FIRST]]#0 : {{.*}} -> (tensor<64xf32>)
// CHECK-NEXT: bb0
// CHECK-NEXT: nn.cast
// CHECK-NEXT: nn.broadcast
// CHECK-NEXT: nn.sub
// CHECK-NEXT: nn.tanh
func.func @rows(%x: tensor<64x100000xbf16>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = nn.cast %x : (tensor<64x100000xbf16>) -> tensor<64x100000xf32>
  %1 = nn.reduce max %0 dims = [1] : tensor<64x100000xf32> -> tensor<64xf32>
  %2 = nn.broadcast %1 dims = [0] : tensor<64xf32> -> tensor<64x100000xf32>
  %3 = nn.sub %0, %2 : tensor<64x100000xf32>
  %4 = nn.exp %3 : tensor<64x100000xf32>
  %5 = nn.reduce sum %4 dims = [1] : tensor<64x100000xf32> -> tensor<64xf32>
  %6 = nn.tanh %3 : (tensor<64x100000xf32>) -> tensor<64x100000xf32>
  %7 = nn.reduce sum %6 dims = [1] : tensor<64x100000xf32> -> tensor<64xf32>
  return %5, %7 : tensor<64xf32>, tensor<64xf32>
}

// -----

// The sum over columns is a kernel of its own. It reads the result in bf16 and widens it as the first does.
// CHECK-LABEL: func.func @columns
// CHECK: %[[Y:.+]] = rt.fusion kernel({{.*}}) -> (tensor<512x256xbf16>)
// CHECK-NOT: nn.cast
// CHECK: rt.fusion kernel(%[[Y]] : tensor<512x256xbf16>) -> (tensor<256xf32>)
// CHECK: nn.cast
// CHECK: nn.reduce sum
func.func @columns(%x: tensor<512x256xbf16>, %y: tensor<512x256xbf16>) -> (tensor<512x256xbf16>, tensor<256xf32>) {
  %0 = nn.mul %x, %y : tensor<512x256xbf16>
  %1 = nn.cast %0 : (tensor<512x256xbf16>) -> tensor<512x256xf32>
  %2 = nn.reduce sum %1 dims = [0] : tensor<512x256xf32> -> tensor<256xf32>
  return %0, %2 : tensor<512x256xbf16>, tensor<256xf32>
}

// -----

// What a library reads, or the function returns, is in memory anyway: the sum over columns reads that.
// CHECK-LABEL: func.func @others_read_it
// CHECK: %[[F:.+]] = rt.fusion kernel({{.*}}) -> (tensor<512x256xf32>)
// CHECK: rt.fusion library(%[[F]]
// CHECK: rt.fusion kernel(%[[F]] : tensor<512x256xf32>) -> (tensor<256xf32>)
func.func @others_read_it(%x: tensor<512x256xbf16>, %w: tensor<256x64xf32>) -> (tensor<512x64xf32>, tensor<256xf32>) {
  %0 = nn.cast %x : (tensor<512x256xbf16>) -> tensor<512x256xf32>
  %1 = nn.contract %0, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<512x256xf32>, tensor<256x64xf32>) -> tensor<512x64xf32>
  %2 = nn.reduce sum %0 dims = [0] : tensor<512x256xf32> -> tensor<256xf32>
  return %1, %2 : tensor<512x64xf32>, tensor<256xf32>
}

// -----

// As many bytes would be read, and those kept longer: nothing is won. Nor where it takes longer than reading the result.
// CHECK-LABEL: func.func @not_less
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<512x256xf32>, tensor<512xf32>)
// CHECK: rt.fusion kernel({{.*}} : tensor<512x256xf32>) -> (tensor<256xf32>)
func.func @not_less(%x: tensor<512x256xf32>, %y: tensor<512x256xf32>) -> (tensor<512xf32>, tensor<256xf32>) {
  %0 = nn.mul %x, %y : tensor<512x256xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<512x256xf32> -> tensor<512xf32>
  %2 = nn.reduce sum %0 dims = [0] : tensor<512x256xf32> -> tensor<256xf32>
  return %1, %2 : tensor<512xf32>, tensor<256xf32>
}
// CHECK-LABEL: func.func @dear
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<512x256xf32>, tensor<512xf32>)
func.func @dear(%x: tensor<512x256xf32>) -> (tensor<512xf32>, tensor<256xf32>) {
  %0 = nn.gelu %x : tensor<512x256xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<512x256xf32> -> tensor<512xf32>
  %2 = nn.reduce sum %0 dims = [0] : tensor<512x256xf32> -> tensor<256xf32>
  return %1, %2 : tensor<512xf32>, tensor<256xf32>
}

// -----

// What is dear is computed again where that is read anyway of which it is made: 4 bytes an element for 8 operations.
// CHECK-LABEL: func.func @dear_but_less
// CHECK: rt.fusion kernel(%arg0 : {{.*}}) -> (tensor<512xbf16>)
// CHECK: rt.fusion kernel(%arg0 : {{.*}}) -> (tensor<512x256xbf16>)
// CHECK-NEXT: bb0
// CHECK-NEXT: nn.silu
func.func @dear_but_less(%x: tensor<512x256xbf16>) -> (tensor<512xbf16>, tensor<512x256xbf16>) {
  %0 = nn.silu %x : tensor<512x256xbf16>
  %1 = nn.reduce max %0 dims = [1] : tensor<512x256xbf16> -> tensor<512xbf16>
  %2 = nn.mul %0, %x {rt.microbatch = 1 : i64} : tensor<512x256xbf16>
  return %1, %2 : tensor<512xbf16>, tensor<512x256xbf16>
}

// -----

// A window reads most elements several times, and would compute them as often; one sum of each row does not.
// CHECK-LABEL: func.func @windows
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<64x4096xf32>, tensor<64xf32>)
// CHECK: rt.fusion kernel({{.*}} : tensor<64x4096xf32>) -> (tensor<64x4094xf32>)
// CHECK-LABEL: func.func @no_windows
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<64xf32>)
// CHECK: rt.fusion kernel({{.*}} : tensor<64x4096xbf16>) -> (tensor<64xf32>)
func.func @windows(%x: tensor<64x4096xbf16>) -> (tensor<64x4094xf32>, tensor<64xf32>) {
  %0 = nn.cast %x : (tensor<64x4096xbf16>) -> tensor<64x4096xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<64x4096xf32> -> tensor<64xf32>
  %2 = nn.reduce_window max %0 {rt.microbatch = 1 : i64, window = array<i64: 1, 3>, strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : tensor<64x4096xf32> -> tensor<64x4094xf32>
  return %2, %1 : tensor<64x4094xf32>, tensor<64xf32>
}
func.func @no_windows(%x: tensor<64x4096xbf16>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = nn.cast %x : (tensor<64x4096xbf16>) -> tensor<64x4096xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<64x4096xf32> -> tensor<64xf32>
  %2 = nn.reduce max %0 dims = [1] {rt.microbatch = 1 : i64} : tensor<64x4096xf32> -> tensor<64xf32>
  return %2, %1 : tensor<64xf32>, tensor<64xf32>
}
