// RUN: weft-opt %s --rt-fuse-kernels | FileCheck %s

// Elementwise ops, broadcasts and the norm after them run in one fusion, in
// rows: the norm needs its whole row. The sum has a second reader and is a
// second output.
// CHECK-LABEL: func.func @residual_norm
func.func @residual_norm(%x: tensor<4x8x32xf32>, %y: tensor<4x8x32xf32>, %g: tensor<32xf32>)
    -> (tensor<4x8x32xf32>, tensor<4x8x32xf32>) {
  // CHECK: %[[C:.+]]:2 = rt.fusion kernel({{.*}}) -> (tensor<4x8x32xf32>, tensor<4x8x32xf32>)
  // CHECK: nn.add
  // CHECK: nn.rms_norm
  // CHECK-NOT: rt.fusion
  // CHECK: return %[[C]]#0, %[[C]]#1
  %0 = nn.add %x, %y : (tensor<4x8x32xf32>, tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
  %1 = nn.rms_norm %0, %g dim = 2 epsilon = 1.0e-5 : (tensor<4x8x32xf32>, tensor<32xf32>) -> tensor<4x8x32xf32>
  return %0, %1 : tensor<4x8x32xf32>, tensor<4x8x32xf32>
}

// Sums of groups of rows are made where the rows are, though both have several of them.
// CHECK-LABEL: func.func @row_groups
// CHECK: rt.fusion kernel
// CHECK: nn.exp
// CHECK: nn.reduce
// CHECK: nn.reduce
// CHECK: rt.yield
// CHECK: rt.fusion kernel
func.func @row_groups(%x: tensor<8x1024x64xf32>) -> (tensor<8x1024x64xf32>, tensor<8x1024xf32>, tensor<64xf32>) {
  %0 = nn.exp %x : (tensor<8x1024x64xf32>) -> tensor<8x1024x64xf32>
  %1 = nn.reduce sum %0 dims = [2] : tensor<8x1024x64xf32> -> tensor<8x1024xf32>
  %2 = nn.reshape %0 : tensor<8x1024x64xf32> -> tensor<8x8x128x64xf32>
  %3 = nn.reduce sum %2 dims = [2] : tensor<8x8x128x64xf32> -> tensor<8x8x64xf32>
  %4 = nn.reduce sum %3 dims = [0, 1] : tensor<8x8x64xf32> -> tensor<64xf32>
  return %0, %1, %4 : tensor<8x1024x64xf32>, tensor<8x1024xf32>, tensor<64xf32>
}

// Views between a product and an attention stay views, and the permutation of
// the attention's result is written by the attention: no copy anywhere.
// CHECK-LABEL: func.func @heads
func.func @heads(%p: tensor<2x8x192xf32>, %w: tensor<64x64xf32>) -> tensor<2x8x64xf32> {
  // CHECK-NOT: rt.dense
  // CHECK-NOT: rt.fusion kernel
  // CHECK: rt.fusion library
  // CHECK: %[[A:.+]] = nn.attention
  // CHECK: %[[T:.+]] = nn.transpose %[[A]]
  // CHECK: rt.yield %[[T]]
  // CHECK: nn.reshape
  // CHECK: rt.fusion library
  // CHECK: nn.contract
  %q0 = nn.slice %p starts = [0, 0, 0] strides = [1, 1, 1] : tensor<2x8x192xf32> -> tensor<2x8x64xf32>
  %q1 = nn.reshape %q0 : tensor<2x8x64xf32> -> tensor<2x8x4x16xf32>
  %q = nn.transpose %q1 permutation = [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %a = nn.attention %q, %q, %q scale = 0.25 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %t = nn.transpose %a permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %r = nn.reshape %t : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %o = nn.contract %r, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
    : (tensor<2x8x64xf32>, tensor<64x64xf32>) -> tensor<2x8x64xf32>
  return %o : tensor<2x8x64xf32>
}

// Gradients of heads that are the parts of one value are written into it at once, whatever their order.
// CHECK-LABEL: func.func @packed
func.func @packed(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>) -> tensor<2x8x192xf32> {
  // CHECK: %[[ALL:.+]] = rt.fusion library(%arg0, %arg1 : {{.*}}) -> (tensor<2x8x192xf32>)
  // CHECK: %[[Q:.+]], %[[K:.+]], %[[V:.+]] = nn.attention_grad
  // CHECK: nn.transpose %[[V]]
  // CHECK: %[[P:.+]] = nn.concat
  // CHECK-NEXT: rt.yield %[[P]]
  // CHECK-NOT: rt.fusion
  // CHECK: return %[[ALL]]
  %dq, %dk, %dv = nn.attention_grad %q, %k, %k, %q, %q scale = 0.25
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  %0 = nn.transpose %dv permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %1 = nn.transpose %dk permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %2 = nn.transpose %dq permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %3 = nn.reshape %0 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %4 = nn.reshape %1 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %5 = nn.reshape %2 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %6 = nn.concat %5, %4, %3 dim = 2 : (tensor<2x8x64xf32>, tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<2x8x192xf32>
  return %6 : tensor<2x8x192xf32>
}

// Not so: with another value among them, where one is read again, where one is of another microbatch.
// CHECK-LABEL: func.func @unpacked
// CHECK-COUNT-3: rt.fusion library({{.*}}) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
// CHECK: return
func.func @unpacked(%q: tensor<2x4x8x16xf32>) -> (tensor<2x4x32x16xf32>, tensor<2x4x24x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x24x16xf32>) {
  %0, %1, %2 = nn.attention_grad %q, %q, %q, %q, %q scale = 0.25
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  %3 = nn.concat %0, %1, %2, %q dim = 2
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x32x16xf32>
  %4, %5, %6 = nn.attention_grad %q, %q, %q, %q, %q scale = 0.5
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  %read = nn.exp %6 : (tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %7 = nn.concat %4, %5, %6 dim = 2
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x24x16xf32>
  %8, %9, %10 = nn.attention_grad %q, %q, %q, %q, %q scale = 0.75 {rt.microbatch = 0 : i64}
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  %11 = nn.concat %8, %9, %10 dim = 2 {rt.microbatch = 1 : i64}
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x24x16xf32>
  return %3, %7, %read, %11 : tensor<2x4x32x16xf32>, tensor<2x4x24x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x24x16xf32>
}

// Else each is written as its reader permutes it, and one that is read as it is stays.
// CHECK-LABEL: func.func @permuted_gradients
// CHECK: %[[ALL:.+]]:3 = rt.fusion library(%arg0 : {{.*}}) -> (tensor<2x4x8x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
// CHECK: %[[Q:.+]], %[[K:.+]], %[[V:.+]] = nn.attention_grad
// CHECK: %[[KT:.+]] = nn.transpose %[[K]]
// CHECK: %[[VT:.+]] = nn.transpose %[[V]]
// CHECK: rt.yield %[[Q]], %[[KT]], %[[VT]]
// CHECK-NOT: rt.fusion kernel
// CHECK: return %[[ALL]]#0
func.func @permuted_gradients(%q: tensor<2x4x8x16xf32>, %w: tensor<64x8xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>) {
  %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %q, %q scale = 0.25
    : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
    -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  %0 = nn.transpose %dk permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %1 = nn.reshape %0 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %2 = nn.transpose %dv permutation = [0, 2, 1, 3] : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %3 = nn.reshape %2 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  %4 = nn.contract %1, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x8x64xf32>, tensor<64x8xf32>) -> tensor<2x8x8xf32>
  %5 = nn.contract %3, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x8x64xf32>, tensor<64x8xf32>) -> tensor<2x8x8xf32>
  return %dq, %4, %5 : tensor<2x4x8x16xf32>, tensor<2x8x8xf32>, tensor<2x8x8xf32>
}

// A transpose in front of an elementwise op is read through, not copied.
// CHECK-LABEL: func.func @transposed_read
func.func @transposed_read(%x: tensor<8x16xf32>, %y: tensor<16x8xf32>) -> tensor<16x8xf32> {
  // CHECK: rt.fusion kernel
  // CHECK: nn.transpose
  // CHECK: nn.mul
  // CHECK-NOT: rt.dense
  %t = nn.transpose %x permutation = [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %0 = nn.mul %t, %y : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// Rows that a kernel makes are written where a product wants them: of heads of each row, where they come as rows of each head.
// CHECK-LABEL: func.func @rows_permuted
// CHECK: %[[ROWS:.+]] = rt.fusion kernel({{.*}}) -> (tensor<2x64x1024xf32>)
// CHECK: nn.rope
// CHECK: nn.transpose
// CHECK: nn.reshape
// CHECK: rt.fusion library(%[[ROWS]],
// CHECK-NOT: rt.fusion
// CHECK: return
func.func @rows_permuted(%x: tensor<2x16x64x64xf32>, %c: tensor<2x16x64x32xf32>, %w: tensor<1024x8xf32>) -> tensor<2x64x8xf32> {
  %0 = nn.rope %x, %c, %c : (tensor<2x16x64x64xf32>, tensor<2x16x64x32xf32>, tensor<2x16x64x32xf32>) -> tensor<2x16x64x64xf32>
  %1 = nn.transpose %0 permutation = [0, 2, 1, 3] : tensor<2x16x64x64xf32> -> tensor<2x64x16x64xf32>
  %2 = nn.reshape %1 : tensor<2x64x16x64xf32> -> tensor<2x64x1024xf32>
  %3 = nn.contract %2, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x64x1024xf32>, tensor<1024x8xf32>) -> tensor<2x64x8xf32>
  return %3 : tensor<2x64x8xf32>
}

// Not so where that takes the rows apart, or others read them as they are.
// CHECK-LABEL: func.func @rows_apart
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<2x16x64x64xf32>)
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<2x64x1024xf32>)
// CHECK-LABEL: func.func @rows_read_twice
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<2x16x64x64xf32>)
// CHECK: rt.fusion kernel({{.*}}) -> (tensor<2x64x1024xf32>)
func.func @rows_apart(%x: tensor<2x16x64x64xf32>, %c: tensor<2x16x64x32xf32>, %w: tensor<1024x8xf32>) -> tensor<2x64x8xf32> {
  %0 = nn.rope %x, %c, %c : (tensor<2x16x64x64xf32>, tensor<2x16x64x32xf32>, tensor<2x16x64x32xf32>) -> tensor<2x16x64x64xf32>
  %1 = nn.transpose %0 permutation = [0, 2, 3, 1] : tensor<2x16x64x64xf32> -> tensor<2x64x64x16xf32>
  %2 = nn.reshape %1 : tensor<2x64x64x16xf32> -> tensor<2x64x1024xf32>
  %3 = nn.contract %2, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x64x1024xf32>, tensor<1024x8xf32>) -> tensor<2x64x8xf32>
  return %3 : tensor<2x64x8xf32>
}
func.func @rows_read_twice(%x: tensor<2x16x64x64xf32>, %c: tensor<2x16x64x32xf32>, %w: tensor<1024x8xf32>) -> (tensor<2x64x8xf32>, tensor<2x16x64x64xf32>) {
  %0 = nn.rope %x, %c, %c : (tensor<2x16x64x64xf32>, tensor<2x16x64x32xf32>, tensor<2x16x64x32xf32>) -> tensor<2x16x64x64xf32>
  %1 = nn.transpose %0 permutation = [0, 2, 1, 3] : tensor<2x16x64x64xf32> -> tensor<2x64x16x64xf32>
  %2 = nn.reshape %1 : tensor<2x64x16x64xf32> -> tensor<2x64x1024xf32>
  %3 = nn.contract %2, %w lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x64x1024xf32>, tensor<1024x8xf32>) -> tensor<2x64x8xf32>
  return %3, %0 : tensor<2x64x8xf32>, tensor<2x16x64x64xf32>
}

// Whatever is returned gets a buffer of its own: arguments, constants, views and
// second returns are copied.
// CHECK-LABEL: func.func @returns
func.func @returns(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK-DAG: %[[X:.+]] = rt.dense %arg0
  // CHECK-DAG: %[[V:.+]] = nn.transpose %arg0
  // CHECK-DAG: %[[T:.+]] = rt.dense %[[V]]
  // CHECK-DAG: %[[C:.+]] = rt.fusion kernel
  // CHECK-DAG: %[[D:.+]] = rt.dense %[[C]]
  // CHECK: return %[[X]], %[[T]], %[[C]], %[[D]]
  %t = nn.transpose %x permutation = [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %e = nn.exp %x : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %x, %t, %e, %e : tensor<8x16xf32>, tensor<16x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// A reduction of everything would make the elementwise op run in one piece:
// large ones stay apart.
// CHECK-LABEL: func.func @keep_parallel
func.func @keep_parallel(%x: tensor<512x512xf32>) -> tensor<f32> {
  // CHECK: rt.fusion kernel({{.*}})
  // CHECK: rt.fusion kernel({{.*}})
  %0 = nn.exp %x : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = nn.reduce sum %0 dims = [0, 1] : tensor<512x512xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// Merging both elementwise ops would make the product wait for itself.
// CHECK-LABEL: func.func @no_cycle
func.func @no_cycle(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // CHECK: rt.fusion kernel
  // CHECK: rt.fusion library
  // CHECK: rt.fusion kernel
  %0 = nn.exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = nn.contract %0, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = nn.sub %0, %1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// Microbatches share no kernel, so that they can run one after the other; nor
// does a kernel's body tell which one it serves.
// CHECK-LABEL: func.func @microbatches
func.func @microbatches(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-COUNT-2: rt.fusion kernel
  // CHECK-NOT: rt.microbatch
  // CHECK: return
  %0 = nn.gelu %x {rt.microbatch = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.gelu %y {rt.microbatch = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.add %0, %1 {rt.microbatch = 1 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// A product adds its gradient to the sum of those before it, also where its result is written
// permuted, and whichever of the two is named first.
// CHECK-LABEL: func.func @sum_of_gradients
// CHECK: %[[FIRST:.+]] = rt.fusion library(%arg0, %arg1, %arg2 : {{.*}}rt.roles = ["weight_gradient"]
// CHECK: %[[P:.+]] = nn.contract %{{.+}} result = [0, 2]
// CHECK: %[[SUM:.+]] = nn.add %[[ADDEND:.+]], %[[P]]
// CHECK: rt.yield %[[SUM]]
// CHECK: rt.fusion library(%arg0, %arg1, %[[FIRST]] :
// CHECK: %[[P:.+]] = nn.contract %{{.+}} result = [0, 2]
// CHECK: %[[T:.+]] = nn.transpose %[[P]] permutation = [1, 0]
// CHECK: nn.add %[[T]], %{{.+}}
// CHECK-NOT: rt.fusion kernel
func.func @sum_of_gradients(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>, %sum: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %1 = nn.add %sum, %0 {nn.role = "weight_gradient"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %3 = nn.transpose %2 permutation = [1, 0] {nn.role = "weight_gradient"} : tensor<16x16xf32> -> tensor<16x16xf32>
  %4 = nn.add %3, %1 {nn.role = "weight_gradient"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %4 : tensor<16x16xf32>
}

// Of two products one adds, so that none waits for the other.
// CHECK-LABEL: func.func @sum_of_two_gradients
// CHECK: %[[FIRST:.+]] = rt.fusion library(%arg0, %arg1 :
// CHECK: rt.fusion library(%arg0, %arg1, %[[FIRST]] :
// CHECK: nn.add
// CHECK-NOT: rt.fusion
func.func @sum_of_two_gradients(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>) -> tensor<16x16xf32> {
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %1 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %2 = nn.add %0, %1 {nn.role = "weight_gradient"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2 : tensor<16x16xf32>
}

// A product of the network adds the bias of its columns or rows, also where its result is written permuted: the view is read, so no
// kernel passes over the result.
// CHECK-LABEL: func.func @biases
// CHECK: %[[ROWS:.+]] = nn.broadcast %arg2 dims = [2] : tensor<16xbf16> -> tensor<4x16x16xbf16>
// CHECK: rt.fusion library(%arg0, %arg1, %[[ROWS]] :
// CHECK: %[[P:.+]] = nn.contract
// CHECK: nn.add %[[P]], %{{.+}} : tensor<4x16x16xbf16>
// CHECK: %[[COLUMNS:.+]] = nn.broadcast %arg2 dims = [1] : tensor<16xbf16> -> tensor<4x16x16xbf16>
// CHECK: rt.fusion library(%arg0, %arg1, %[[COLUMNS]] :
// CHECK: %[[P:.+]] = nn.contract
// CHECK: %[[T:.+]] = nn.transpose %[[P]] permutation = [0, 2, 1]
// CHECK: nn.add %{{.+}}, %[[T]]
// CHECK-NOT: rt.fusion kernel
// CHECK: return
func.func @biases(%a: tensor<4x16x8xbf16>, %b: tensor<8x16xbf16>, %bias: tensor<16xbf16>) -> (tensor<4x16x16xbf16>, tensor<4x16x16xbf16>) {
  %0 = nn.contract %a, %b lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
    : (tensor<4x16x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16x16xbf16>
  %1 = nn.broadcast %bias dims = [2] : tensor<16xbf16> -> tensor<4x16x16xbf16>
  %2 = nn.add %0, %1 : (tensor<4x16x16xbf16>, tensor<4x16x16xbf16>) -> tensor<4x16x16xbf16>
  %3 = nn.contract %a, %b lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
    : (tensor<4x16x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16x16xbf16>
  %4 = nn.transpose %3 permutation = [0, 2, 1] : tensor<4x16x16xbf16> -> tensor<4x16x16xbf16>
  %5 = nn.broadcast %bias dims = [1] : tensor<16xbf16> -> tensor<4x16x16xbf16>
  %6 = nn.add %5, %4 : (tensor<4x16x16xbf16>, tensor<4x16x16xbf16>) -> tensor<4x16x16xbf16>
  return %2, %6 : tensor<4x16x16xbf16>, tensor<4x16x16xbf16>
}

// Not so: what would cut one product into one for each of the batch, such as rows of positions; and what is part of the code.
// CHECK-LABEL: func.func @no_biases
// CHECK: rt.fusion library(%arg0, %arg1 :
// CHECK: rt.fusion kernel
// CHECK: rt.fusion library(%arg0, %arg1 :
// CHECK: rt.fusion kernel
func.func @no_biases(%a: tensor<4x16x8xf32>, %b: tensor<8x16xf32>, %positions: tensor<16x16xf32>) -> (tensor<4x16x16xf32>, tensor<4x16x16xf32>) {
  %0 = nn.contract %a, %b lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
    : (tensor<4x16x8xf32>, tensor<8x16xf32>) -> tensor<4x16x16xf32>
  %1 = nn.broadcast %positions dims = [1, 2] : tensor<16x16xf32> -> tensor<4x16x16xf32>
  %2 = nn.add %0, %1 : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %3 = nn.contract %a, %b lhs = [0, 1, 2] rhs = [2, 3] result = [0, 1, 3] accumulate = f32
    : (tensor<4x16x8xf32>, tensor<8x16xf32>) -> tensor<4x16x16xf32>
  %4 = nn.constant dense<1.0> : tensor<16xf32> : tensor<16xf32>
  %5 = nn.broadcast %4 dims = [2] : tensor<16xf32> -> tensor<4x16x16xf32>
  %6 = nn.add %3, %5 : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %2, %6 : tensor<4x16x16xf32>, tensor<4x16x16xf32>
}

// A residual is in memory anyway, so the product adds it, behind the bias: an argument, what a library makes, and what a kernel made on
// the way to the product.
// CHECK-LABEL: func.func @residuals
// CHECK: %[[FIRST:.+]] = rt.fusion library(%arg0, %arg1, %{{.+}} :
// CHECK: %[[P:.+]] = nn.contract
// CHECK: %[[S:.+]] = nn.add %[[P]], %{{.+}} : tensor<16x16xbf16>
// CHECK: %[[R:.+]] = nn.add %{{.+}}, %[[S]] : tensor<16x16xbf16>
// CHECK: rt.yield %[[R]]
// CHECK: %[[X:.+]] = rt.fusion library(%[[FIRST]], %arg1 :
// CHECK: nn.add
// CHECK: %[[Y:.+]] = rt.fusion kernel(%[[X]] :
// CHECK: rt.fusion library(%[[Y]], %arg1 :
// CHECK: nn.add
// CHECK-NOT: rt.fusion
// CHECK: return
func.func @residuals(%x: tensor<16x16xbf16>, %w: tensor<16x16xbf16>, %bias: tensor<16xbf16>) -> tensor<16x16xbf16> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %1 = nn.broadcast %bias dims = [1] : tensor<16xbf16> -> tensor<16x16xbf16>
  %2 = nn.add %0, %1 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %3 = nn.add %x, %2 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %4 = nn.contract %3, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %5 = nn.add %4, %3 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %6 = nn.exp %5 : (tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %7 = nn.contract %6, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  %8 = nn.add %7, %6 : (tensor<16x16xbf16>, tensor<16x16xbf16>) -> tensor<16x16xbf16>
  return %8 : tensor<16x16xbf16>
}

// Two sums at most; a third is a kernel's.
// CHECK-LABEL: func.func @three_sums
// CHECK: %[[P:.+]] = rt.fusion library(
// CHECK: nn.contract
// CHECK-COUNT-2: nn.add
// CHECK: rt.fusion kernel({{.*}}%[[P]]
// CHECK: nn.add
// CHECK-NOT: rt.fusion
// CHECK: return
func.func @three_sums(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %w: tensor<16x16xf32>, %bias: tensor<16xf32>) -> tensor<16x16xf32> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = nn.broadcast %bias dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %2 = nn.add %0, %1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = nn.add %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = nn.add %y, %3 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %4 : tensor<16x16xf32>
}

#mesh = #dist.mesh<["dp"=2]>
!whole = tensor<16x16xf32, #dist.local<#mesh, [16, 16]>>
!partial = tensor<16x16xf32, #dist.local<#mesh, [16, 16], partial = sum["dp"]>>

// What comes from other ranks is added when it is there, but to the product that waits for it.
// CHECK-LABEL: func.func @sums_of_received
// CHECK: rt.fusion library(%arg1, %arg2 :
// CHECK: nn.contract
// CHECK-NEXT: rt.yield
// CHECK: rt.fusion kernel(
// CHECK: nn.add
// CHECK: rt.fusion library(
// CHECK: nn.contract
// CHECK-NEXT: nn.add
func.func @sums_of_received(%g: !partial, %x: !whole, %w: !whole) -> (!whole, !whole) {
  %r = dist.all_reduce %g ["dp"] accumulate f32 : !partial -> !whole
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!whole, !whole) -> !whole
  %1 = nn.add %0, %r : (!whole, !whole) -> !whole
  %2 = nn.contract %r, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (!whole, !whole) -> !whole
  %3 = nn.add %2, %r : (!whole, !whole) -> !whole
  return %1, %3 : !whole, !whole
}

// Not so: what is read twice, what is of another microbatch, another op, a sum that lies in another order, and what a kernel adds as it
// makes it.
// CHECK-LABEL: func.func @other_sums
// CHECK-COUNT-5: nn.contract
// CHECK-NOT: rt.fusion library
// CHECK-COUNT-5: rt.fusion kernel
func.func @other_sums(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>, %s: tensor<16x16xf32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %p0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %p1 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient", rt.microbatch = 0 : i64}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %p2 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %p3 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 {nn.role = "weight_gradient"}
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %p5 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %turned = nn.transpose %s permutation = [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
  %0 = nn.add %p0, %s {nn.role = "weight_gradient"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = nn.add %p1, %s {nn.role = "weight_gradient", rt.microbatch = 1 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = nn.sub %p2, %s {nn.role = "weight_gradient"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = nn.add %p3, %turned {nn.role = "weight_gradient"} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %made = nn.exp %s : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %5 = nn.add %p5, %made : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0, %1, %2, %3, %5, %p0 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// The gradient of a lookup is the library's. Its zeros are implied, and no memory is read for them.
// CHECK-LABEL: func.func @lookup_gradient
// CHECK-NEXT: rt.fusion library(%arg0, %arg1 : tensor<2x4x1xi64>, tensor<2x4x8xf32>)
// CHECK: %[[ZEROS:.+]] = nn.constant
// CHECK: nn.scatter add %[[ZEROS]]
func.func @lookup_gradient(%i: tensor<2x4x1xi64>, %u: tensor<2x4x8xf32>) -> tensor<100x8xf32> {
  %z = nn.constant dense<0.0> : tensor<100x8xf32> : tensor<100x8xf32>
  %0 = nn.scatter add %z, %i, %u indexed = [0] operand_batch = [] indices_batch = []
    : (tensor<100x8xf32>, tensor<2x4x1xi64>, tensor<2x4x8xf32>) -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}

// Only sums over whole rows are; and a row must lie in one piece, so these updates are copied (the zeros are not).
// CHECK-LABEL: func.func @other_scatters
// CHECK: rt.fusion kernel
// CHECK: nn.scatter max
// CHECK: rt.fusion kernel
// CHECK: nn.scatter add
// CHECK: %[[T:.+]] = nn.transpose %{{.+}} permutation = [1, 0]
// CHECK: %[[D:.+]] = rt.dense %[[T]]
// CHECK: rt.fusion library(%{{.+}}, %[[D]] :
func.func @other_scatters(%x: tensor<100x8xf32>, %i: tensor<4x1xi64>, %u: tensor<4x8xf32>, %v: tensor<8x4xf32>, %w: tensor<4x100xf32>)
    -> (tensor<100x8xf32>, tensor<100x8xf32>, tensor<100x8xf32>) {
  %0 = nn.scatter max %x, %i, %u indexed = [0] operand_batch = [] indices_batch = []
    : (tensor<100x8xf32>, tensor<4x1xi64>, tensor<4x8xf32>) -> tensor<100x8xf32>
  %1 = nn.scatter add %x, %i, %w indexed = [1] operand_batch = [] indices_batch = []
    : (tensor<100x8xf32>, tensor<4x1xi64>, tensor<4x100xf32>) -> tensor<100x8xf32>
  %t = nn.transpose %v permutation = [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %z = nn.constant dense<0.0> : tensor<100x8xf32> : tensor<100x8xf32>
  %2 = nn.scatter add %z, %i, %t indexed = [0] operand_batch = [] indices_batch = []
    : (tensor<100x8xf32>, tensor<4x1xi64>, tensor<4x8xf32>) -> tensor<100x8xf32>
  return %0, %1, %2 : tensor<100x8xf32>, tensor<100x8xf32>, tensor<100x8xf32>
}

// Sections of a stage's program have kernels of their own, which do not say of which section they are: others may share
// their code.
// CHECK-LABEL: func.func @sections
// CHECK: rt.fusion kernel
// CHECK: nn.gelu %{{[^ ]+}} : tensor<8xf32>
// CHECK: rt.fusion kernel
// CHECK: nn.gelu %{{[^ ]+}} : tensor<8xf32>
func.func @sections(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.gelu %x {dist.section = 0 : i64} : tensor<8xf32>
  %1 = nn.gelu %0 {dist.section = 1 : i64} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// What is read whole and transposed, too, is cut into no rows that both edges allow: its reader stays apart, whichever it
// reads first.
// CHECK-LABEL: func.func @whole_and_turned
// CHECK-COUNT-2: rt.fusion kernel
// CHECK: return
// CHECK-LABEL: func.func @turned_and_whole
// CHECK-COUNT-2: rt.fusion kernel
// CHECK: return
func.func @whole_and_turned(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %p = nn.softmax %x dim = 1 : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %t = nn.transpose %p permutation = [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %c = nn.add %p, %t : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %c : tensor<1024x1024xf32>
}
func.func @turned_and_whole(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %p = nn.softmax %x dim = 1 : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %t = nn.transpose %p permutation = [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %c = nn.add %t, %p : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %c : tensor<1024x1024xf32>
}
