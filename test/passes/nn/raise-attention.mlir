// RUN: weft-opt %s --nn-raise-attention --split-input-file | FileCheck %s

// Scaled scores where a constant triangle selects: causal. Two query heads share
// a key head that was repeated for them.
// CHECK-LABEL: func.func @causal_grouped
// CHECK-SAME: (%[[Q:.+]]: tensor<1x2x3x4xf32>, %[[K:.+]]: tensor<1x1x3x4xf32>, %[[V:.+]]: tensor<1x1x3x5xf32>)
// CHECK: nn.attention %[[Q]], %[[K]], %[[V]] scale = 5.000000e-01 {causal}
// CHECK-SAME: -> tensor<1x2x3x5xf32>
// CHECK-NOT: nn.softmax
func.func @causal_grouped(%q: tensor<1x2x3x4xf32>, %k: tensor<1x1x3x4xf32>, %v: tensor<1x1x3x5xf32>) -> tensor<1x2x3x5xf32> {
  %two = nn.constant dense<2.0> : tensor<1x2x3x3xf32> : tensor<1x2x3x3xf32>
  %low = nn.constant dense<-3.4e38> : tensor<1x2x3x3xf32> : tensor<1x2x3x3xf32>
  %triangle = nn.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1> : tensor<3x3xi1>
  %sees = nn.broadcast %triangle dims = [2, 3] : tensor<3x3xi1> -> tensor<1x2x3x3xi1>
  %0 = nn.broadcast %k dims = [0, 1, 3, 4] : tensor<1x1x3x4xf32> -> tensor<1x1x2x3x4xf32>
  %1 = nn.reshape %0 : tensor<1x1x2x3x4xf32> -> tensor<1x2x3x4xf32>
  %2 = nn.broadcast %v dims = [0, 1, 3, 4] : tensor<1x1x3x5xf32> -> tensor<1x1x2x3x5xf32>
  %3 = nn.reshape %2 : tensor<1x1x2x3x5xf32> -> tensor<1x2x3x5xf32>
  %4 = nn.contract %q, %1 lhs = [0, 1, 2, 4] rhs = [0, 1, 3, 4] result = [0, 1, 2, 3] accumulate = f32 : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.div %4, %two : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.select %sees, %5, %low : (tensor<1x2x3x3xi1>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %7 = nn.softmax %6 dim = 3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %8 = nn.contract %7, %3 lhs = [0, 1, 2, 3] rhs = [0, 1, 3, 4] result = [0, 1, 2, 4] accumulate = f32 : (tensor<1x2x3x3xf32>, tensor<1x2x3x5xf32>) -> tensor<1x2x3x5xf32>
  return %8 : tensor<1x2x3x5xf32>
}

// -----

// The same constant says in one layer what is seen and in another what is hidden: there the last row sees
// nothing.
// CHECK-LABEL: func.func @both_ways
// CHECK: nn.attention {{.+}} {causal}
// CHECK: nn.softmax
// CHECK-NOT: nn.attention
func.func @both_ways(%q: tensor<2x3x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %low = nn.constant dense<-3.4e38> : tensor<2x3x3xf32> : tensor<2x3x3xf32>
  %triangle = nn.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1> : tensor<3x3xi1>
  %mask = nn.broadcast %triangle dims = [1, 2] : tensor<3x3xi1> -> tensor<2x3x3xi1>
  %0 = nn.contract %q, %k lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  %1 = nn.select %mask, %0, %low : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %2 = nn.softmax %1 dim = 2 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %3 = nn.contract %2, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %4 = nn.contract %k, %q lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  %5 = nn.select %mask, %low, %4 : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %6 = nn.softmax %5 dim = 2 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %7 = nn.contract %6, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %3, %7 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}

// -----

// An added mask that is not known; batch and heads fused into one dim.
// CHECK-LABEL: func.func @masked_fused
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: tensor<2x3x3xf32>)
// CHECK: %[[M:.+]] = nn.reshape %[[MASK]] : tensor<2x3x3xf32> -> tensor<2x1x3x3xf32>
// CHECK: nn.attention {{.+}} mask %[[M]] scale = 1.000000e+00
func.func @masked_fused(%q: tensor<2x3x4xf32>, %k: tensor<2x4x3xf32>, %v: tensor<2x3x5xf32>, %mask: tensor<2x3x3xf32>) -> tensor<2x3x5xf32> {
  %0 = nn.contract %q, %k lhs = [0, 1, 3] rhs = [0, 3, 2] result = [0, 1, 2] accumulate = f32 : (tensor<2x3x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
  %1 = nn.add %mask, %0 : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %2 = nn.softmax %1 dim = 2 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %3 = nn.contract %2, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %3 : tensor<2x3x5xf32>
}

// -----

// A condition known only when running might hide a whole row, whose weights would
// then be equal, not zero: left alone. So is a softmax that someone else reads.
// CHECK-LABEL: func.func @row_may_vanish
// CHECK-NOT: nn.attention
func.func @row_may_vanish(%q: tensor<2x3x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<2x3x5xf32>, %sees: tensor<2x3x3xi1>) -> (tensor<2x3x5xf32>, tensor<2x3x3xf32>, tensor<2x3x5xf32>) {
  %low = nn.constant dense<-3.4e38> : tensor<2x3x3xf32> : tensor<2x3x3xf32>
  %0 = nn.contract %q, %k lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  %1 = nn.select %sees, %0, %low : (tensor<2x3x3xi1>, tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %2 = nn.softmax %1 dim = 2 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %3 = nn.contract %2, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %4 = nn.contract %k, %q lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  %5 = nn.softmax %4 dim = 2 : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %6 = nn.contract %5, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x3x3xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %3, %5, %6 : tensor<2x3x5xf32>, tensor<2x3x3xf32>, tensor<2x3x5xf32>
}

// -----

// Masks of any size are known by what makes them: a select on the condition that the row's number is
// not less than the column's, and the added triangle of what Llama's exporters write.
// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: nn.attention {{.+}}, %{{[a-z0-9]+}} scale = 1.000000e+00 {causal}
func.func @large(%q: tensor<2x100000x4xf32>, %k: tensor<2x100000x4xf32>, %v: tensor<2x100000x5xf32>) -> (tensor<2x100000x5xf32>, tensor<2x100000x5xf32>) {
  %low = nn.constant dense<-3.4e38> : tensor<2x100000x100000xf32> : tensor<2x100000x100000xf32>
  %numbers = nn.iota : tensor<100000xi64>
  %row = nn.broadcast %numbers dims = [0] : tensor<100000xi64> -> tensor<100000x100000xi64>
  %column = nn.broadcast %numbers dims = [1] : tensor<100000xi64> -> tensor<100000x100000xi64>
  %sees = nn.compare ge %row, %column : (tensor<100000x100000xi64>, tensor<100000x100000xi64>) -> tensor<100000x100000xi1>
  %condition = nn.broadcast %sees dims = [1, 2] : tensor<100000x100000xi1> -> tensor<2x100000x100000xi1>
  %0 = nn.contract %q, %k lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x100000x4xf32>, tensor<2x100000x4xf32>) -> tensor<2x100000x100000xf32>
  %1 = nn.select %condition, %0, %low : (tensor<2x100000x100000xi1>, tensor<2x100000x100000xf32>, tensor<2x100000x100000xf32>) -> tensor<2x100000x100000xf32>
  %2 = nn.softmax %1 dim = 2 : (tensor<2x100000x100000xf32>) -> tensor<2x100000x100000xf32>
  %3 = nn.contract %2, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x100000x100000xf32>, tensor<2x100000x5xf32>) -> tensor<2x100000x5xf32>

  %one = nn.constant dense<1> : tensor<100000x100000xi64> : tensor<100000x100000xi64>
  %next = nn.add %row, %one : tensor<100000x100000xi64>
  %hides = nn.compare ge %column, %next : (tensor<100000x100000xi64>, tensor<100000x100000xi64>) -> tensor<100000x100000xi1>
  %number = nn.cast %hides : (tensor<100000x100000xi1>) -> tensor<100000x100000xf32>
  %lowest = nn.constant dense<-3.4e38> : tensor<100000x100000xf32> : tensor<100000x100000xf32>
  %added = nn.mul %number, %lowest : tensor<100000x100000xf32>
  %mask = nn.broadcast %added dims = [1, 2] : tensor<100000x100000xf32> -> tensor<2x100000x100000xf32>
  %4 = nn.contract %q, %k lhs = [0, 1, 3] rhs = [0, 2, 3] result = [0, 1, 2] accumulate = f32 : (tensor<2x100000x4xf32>, tensor<2x100000x4xf32>) -> tensor<2x100000x100000xf32>
  %5 = nn.add %4, %mask : tensor<2x100000x100000xf32>
  %6 = nn.softmax %5 dim = 2 : (tensor<2x100000x100000xf32>) -> tensor<2x100000x100000xf32>
  %7 = nn.contract %6, %v lhs = [0, 1, 2] rhs = [0, 2, 3] result = [0, 1, 3] accumulate = f32 : (tensor<2x100000x100000xf32>, tensor<2x100000x5xf32>) -> tensor<2x100000x5xf32>
  return %3, %7 : tensor<2x100000x5xf32>, tensor<2x100000x5xf32>
}
