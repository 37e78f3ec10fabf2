// RUN: weft-opt %s --split-input-file --nn-raise-activations --nn-raise-norms --nn-raise-rope --nn-raise-attention --mlir-print-debuginfo --mlir-pretty-debuginfo --mlir-print-local-scope | FileCheck %s

// The op that an idiom became has the names of all nodes that it stands for; the first is the one that messages name.
// CHECK-LABEL: func.func @silu
// CHECK: nn.silu %{{.+}} : tensor<4xf32> ["mul", "sigmoid"]
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32> loc("sigmoid")
  %1 = nn.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("mul")
  return %1 : tensor<4xf32>
}

// -----

// What others read stays, with its own name.
// CHECK-LABEL: func.func @shared
// CHECK: nn.sigmoid %{{.+}} : tensor<4xf32> "sigmoid"
// CHECK: nn.silu %{{.+}} : tensor<4xf32> "mul"
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32> loc("sigmoid")
  %1 = nn.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("mul")
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A norm, its scale and its bias are found in three steps.
// CHECK-LABEL: func.func @layer_norm
// CHECK: nn.layer_norm {{.*}} ["bias",
// CHECK-SAME: "divide"
// CHECK-SAME: "square"
// CHECK-SAME: "scale"]
func.func @layer_norm(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %count = nn.constant dense<8.0> : tensor<2xf32> : tensor<2xf32>
  %epsilon = nn.constant dense<1.0e-5> : tensor<2xf32> : tensor<2xf32>
  %0 = nn.reduce sum %x dims = [1] : tensor<2x8xf32> -> tensor<2xf32> loc("mean")
  %1 = nn.div %0, %count : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("mean")
  %2 = nn.broadcast %1 dims = [0] : tensor<2xf32> -> tensor<2x8xf32> loc("centre")
  %3 = nn.sub %x, %2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> loc("centre")
  %4 = nn.mul %3, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> loc("square")
  %5 = nn.reduce sum %4 dims = [1] : tensor<2x8xf32> -> tensor<2xf32> loc("variance")
  %6 = nn.div %5, %count : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("variance")
  %7 = nn.add %6, %epsilon : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("add")
  %8 = nn.sqrt %7 : (tensor<2xf32>) -> tensor<2xf32> loc("root")
  %9 = nn.broadcast %8 dims = [0] : tensor<2xf32> -> tensor<2x8xf32> loc("divide")
  %10 = nn.div %3, %9 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> loc("divide")
  %11 = nn.broadcast %w dims = [1] : tensor<8xf32> -> tensor<2x8xf32> loc("scale")
  %12 = nn.mul %10, %11 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> loc("scale")
  %13 = nn.broadcast %b dims = [1] : tensor<8xf32> -> tensor<2x8xf32> loc("bias")
  %14 = nn.add %12, %13 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> loc("bias")
  return %14 : tensor<2x8xf32>
}

// -----

// The tables are values of their own.
// CHECK-LABEL: func.func @rope
// CHECK-NOT: "cos"{{.*}}"sum"
// CHECK: nn.rope {{.*}} ["sum", "straight times cosine", "turned times sine", "turn", "negate", "first", "second"]
func.func @rope(%x: tensor<3x4xf32>, %angle: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %0 = nn.concat %angle, %angle dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32> loc("angles")
  %1 = nn.cos %0 : (tensor<3x4xf32>) -> tensor<3x4xf32> loc("cos")
  %2 = nn.sin %0 : (tensor<3x4xf32>) -> tensor<3x4xf32> loc("sin")
  %3 = nn.slice %x starts = [0, 0] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32> loc("first")
  %4 = nn.slice %x starts = [0, 2] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x2xf32> loc("second")
  %5 = nn.negate %4 : (tensor<3x2xf32>) -> tensor<3x2xf32> loc("negate")
  %6 = nn.concat %5, %3 dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32> loc("turn")
  %7 = nn.mul %x, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> loc("straight times cosine")
  %8 = nn.mul %6, %2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> loc("turned times sine")
  %9 = nn.add %7, %8 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> loc("sum")
  return %9 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @attention
// CHECK: nn.attention {{.*}} ["weighted sum", "softmax", "scale", "scores"]
func.func @attention(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x5xf32>) -> tensor<1x2x3x5xf32> {
  %two = nn.constant dense<2.0> : tensor<1x2x3x3xf32> : tensor<1x2x3x3xf32>
  %0 = nn.contract %q, %k lhs = [0, 1, 2, 4] rhs = [0, 1, 3, 4] result = [0, 1, 2, 3] accumulate = f32 : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32> loc("scores")
  %1 = nn.div %0, %two : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> loc("scale")
  %2 = nn.softmax %1 dim = 3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> loc("softmax")
  %3 = nn.contract %2, %v lhs = [0, 1, 2, 3] rhs = [0, 1, 3, 4] result = [0, 1, 2, 4] accumulate = f32 : (tensor<1x2x3x3xf32>, tensor<1x2x3x5xf32>) -> tensor<1x2x3x5xf32> loc("weighted sum")
  return %3 : tensor<1x2x3x5xf32>
}
