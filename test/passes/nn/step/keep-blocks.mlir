// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(step-keep-blocks{keep=2}))' | FileCheck %s
// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(step-keep-blocks{keep=3}))' | FileCheck %s --check-prefix=ALL
// RUN: not weft-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(step-keep-blocks{keep=0}))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: of 3 blocks 0 cannot be kept; keep one at least

// Three residual blocks behind an embedding: the head reads what the second makes, the third and its weight are gone.
// The scale that all blocks read is there anyway.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: nn.name = "embed"
// CHECK-SAME: nn.name = "w1"
// CHECK-SAME: nn.name = "w2"
// CHECK-NOT: nn.name = "w3"
// CHECK-SAME: nn.name = "head"
// CHECK-COUNT-2: nn.tanh
// CHECK-NOT: nn.tanh
// CHECK: %[[LAST:.+]] = nn.add
// CHECK-NEXT: nn.contract %[[LAST]], %{{.*}}
// CHECK-NEXT: return
// ALL-LABEL: func.func @chain
// ALL-COUNT-3: nn.tanh
func.func @chain(%x: tensor<4x6xf32> {nn.name = "x"}, %s: tensor<4x6xf32> {nn.name = "scale"},
    %e: tensor<6x6xf32> {nn.name = "embed", nn.initial = 1.0 : f32},
    %w1: tensor<6x6xf32> {nn.name = "w1", nn.initial = 1.0 : f32}, %w2: tensor<6x6xf32> {nn.name = "w2", nn.initial = 1.0 : f32},
    %w3: tensor<6x6xf32> {nn.name = "w3", nn.initial = 1.0 : f32},
    %h: tensor<6x6xf32> {nn.name = "head", nn.initial = 1.0 : f32}) -> tensor<4x6xf32> {
  %scale = nn.exp %s : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = nn.contract %x, %e lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %1 = nn.contract %0, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %2 = nn.tanh %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = nn.mul %2, %scale : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = nn.add %0, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = nn.contract %4, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %6 = nn.tanh %5 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = nn.mul %6, %scale : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = nn.add %4, %7 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = nn.contract %8, %w3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %10 = nn.tanh %9 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %11 = nn.mul %10, %scale : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %12 = nn.add %8, %11 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %13 = nn.contract %12, %h lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  return %13 : tensor<4x6xf32>
}

// -----

// What is added to the embedding, positions say, is no product and no sum of activations, and yet a block begins behind it:
// there are three.
// CHECK-LABEL: func.func @positions
// CHECK-SAME: nn.name = "w2"
// CHECK-NOT: nn.name = "w3"
// CHECK-COUNT-2: nn.tanh
// CHECK-NOT: nn.tanh
// ALL-LABEL: func.func @positions
// ALL-COUNT-3: nn.tanh
func.func @positions(%x: tensor<4x6xf32> {nn.name = "x"},
    %e: tensor<6x6xf32> {nn.name = "embed", nn.initial = 1.0 : f32}, %p: tensor<4x6xf32> {nn.name = "positions", nn.initial = 1.0 : f32},
    %w1: tensor<6x6xf32> {nn.name = "w1", nn.initial = 1.0 : f32}, %w2: tensor<6x6xf32> {nn.name = "w2", nn.initial = 1.0 : f32},
    %w3: tensor<6x6xf32> {nn.name = "w3", nn.initial = 1.0 : f32}) -> tensor<4x6xf32> {
  %n = nn.contract %x, %e lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %0 = nn.add %n, %p : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = nn.tanh %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = nn.contract %1, %w1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %3 = nn.add %0, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = nn.tanh %3 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = nn.contract %4, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %6 = nn.add %3, %5 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = nn.tanh %6 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = nn.contract %7, %w3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %9 = nn.add %6, %8 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %10 = nn.exp %9 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %10 : tensor<4x6xf32>
}

// -----

// A table that all blocks read is made in the first one, a weight is cast in each: there are three, and the third weight is
// gone with its cast.
// CHECK-LABEL: func.func @tables
// CHECK-SAME: nn.name = "w2"
// CHECK-NOT: nn.name = "w3"
// CHECK: nn.exp
// CHECK-COUNT-2: nn.tanh
// CHECK-NOT: nn.tanh
// ALL-LABEL: func.func @tables
// ALL-COUNT-3: nn.tanh
func.func @tables(%x: tensor<4x6xf32> {nn.name = "x"}, %s: tensor<4x6xf32> {nn.name = "angles"},
    %e: tensor<6x6xf32> {nn.name = "embed", nn.initial = 1.0 : f32},
    %w1: tensor<6x6xf64> {nn.name = "w1", nn.initial = 1.0 : f64}, %w2: tensor<6x6xf64> {nn.name = "w2", nn.initial = 1.0 : f64},
    %w3: tensor<6x6xf64> {nn.name = "w3", nn.initial = 1.0 : f64}) -> tensor<4x6xf32> {
  %0 = nn.contract %x, %e lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %c1 = nn.cast %w1 : (tensor<6x6xf64>) -> tensor<6x6xf32>
  %1 = nn.contract %0, %c1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %table = nn.exp %s : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = nn.mul %1, %table : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = nn.tanh %2 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = nn.add %0, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %c2 = nn.cast %w2 : (tensor<6x6xf64>) -> tensor<6x6xf32>
  %5 = nn.contract %4, %c2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %6 = nn.mul %5, %table : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = nn.tanh %6 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = nn.add %4, %7 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %c3 = nn.cast %w3 : (tensor<6x6xf64>) -> tensor<6x6xf32>
  %9 = nn.contract %8, %c3 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %10 = nn.mul %9, %table : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %11 = nn.tanh %10 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %12 = nn.add %8, %11 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %13 = nn.negate %12 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %13 : tensor<4x6xf32>
}

// -----

// What a block makes is a result of the program: it is no line of blocks, and stays.
// CHECK-LABEL: func.func @leaves
// CHECK-COUNT-3: nn.tanh
func.func @leaves(%x: tensor<4x6xf32> {nn.name = "x"},
    %e: tensor<6x6xf32> {nn.name = "embed", nn.initial = 1.0 : f32},
    %w: tensor<6x6xf32> {nn.name = "w", nn.initial = 1.0 : f32}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = nn.contract %x, %e lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %1 = nn.contract %0, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %2 = nn.tanh %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = nn.add %0, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = nn.contract %4, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %6 = nn.tanh %5 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %8 = nn.add %4, %6 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = nn.contract %8, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %10 = nn.tanh %9 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %12 = nn.add %8, %10 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %12, %6 : tensor<4x6xf32>, tensor<4x6xf32>
}
