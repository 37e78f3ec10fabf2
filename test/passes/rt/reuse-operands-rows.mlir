// RUN: weft-opt %s --rt-reuse-operands | FileCheck %s
// A kernel of which a result is made row by row from sums over a row and the row itself overwrites what it reads.

// CHECK-LABEL: func.func @step
func.func @step(%x: tensor<64x80xf32>, %i: tensor<64x1xi64>)
    -> (tensor<64xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<4x80xf32>) {
  %0 = rt.call @make(%x) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %1:2 = rt.call @rows(%0) : (tensor<64x80xf32>) -> (tensor<64xf32>, tensor<64x80xf32>)
  %a = rt.dense %1#1 : tensor<64x80xf32>
  %2 = rt.call @make(%x) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %3 = rt.call @columns(%2) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %b = rt.dense %3 : tensor<64x80xf32>
  %4 = rt.call @make(%x) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %5:2 = rt.call @first(%4) : (tensor<64x80xf32>) -> (tensor<64x80xf32>, tensor<64xf32>)
  %c = rt.dense %5#0 : tensor<64x80xf32>
  %6 = rt.call @make(%x) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %7 = rt.call @turned(%6) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %d = rt.dense %7 : tensor<64x80xf32>
  %8 = rt.call @make(%x) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %9 = rt.call @picked(%8, %i) : (tensor<64x80xf32>, tensor<64x1xi64>) -> tensor<64x80xf32>
  %e = rt.dense %9 : tensor<64x80xf32>
  %10 = rt.call @make(%x) : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %11:2 = rt.call @groups(%10) : (tensor<64x80xf32>) -> (tensor<64x80xf32>, tensor<4x80xf32>)
  %f = rt.dense %11#0 : tensor<64x80xf32>
  return %1#0, %a, %b, %c, %d, %e, %f, %11#1 : tensor<64xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<64x80xf32>, tensor<4x80xf32>
}
func.func private @make(%a: tensor<64x80xf32>) -> tensor<64x80xf32> attributes {rt.kernel} {
  %0 = nn.softmax %a dim = 1 : (tensor<64x80xf32>) -> tensor<64x80xf32>
  return %0 : tensor<64x80xf32>
}
// CHECK: func.func private @columns
// CHECK-NOT: rt.in_place
// CHECK: func.func private @first
// CHECK-NOT: rt.in_place
// CHECK: func.func private @turned
// CHECK-NOT: rt.in_place
// CHECK: func.func private @rows
// CHECK-SAME: rt.in_place = array<i64: -1, 0>
func.func private @rows(%a: tensor<64x80xf32>) -> (tensor<64xf32>, tensor<64x80xf32>) attributes {rt.kernel} {
  %0 = nn.exp %a : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %1 = nn.reduce sum %0 dims = [1] : tensor<64x80xf32> -> tensor<64xf32>
  %2 = nn.broadcast %1 dims = [0] : tensor<64xf32> -> tensor<64x80xf32>
  %3 = nn.div %0, %2 : tensor<64x80xf32>
  return %1, %3 : tensor<64xf32>, tensor<64x80xf32>
}
// CHECK: func.func private @picked
// CHECK-SAME: rt.in_place = array<i64: 0>
// Sums of four groups of rows are taken of what was written.
// CHECK: func.func private @groups
// CHECK-SAME: rt.in_place = array<i64: 0, -1>
func.func private @groups(%a: tensor<64x80xf32>) -> (tensor<64x80xf32>, tensor<4x80xf32>) attributes {rt.kernel} {
  %0 = nn.exp %a : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %1 = nn.reshape %0 : tensor<64x80xf32> -> tensor<4x16x80xf32>
  %2 = nn.reduce sum %1 dims = [1] : tensor<4x16x80xf32> -> tensor<4x80xf32>
  return %0, %2 : tensor<64x80xf32>, tensor<4x80xf32>
}
// Sums over columns read all rows.
func.func private @columns(%a: tensor<64x80xf32>) -> tensor<64x80xf32> attributes {rt.kernel} {
  %0 = nn.reduce sum %a dims = [0] : tensor<64x80xf32> -> tensor<80xf32>
  %1 = nn.broadcast %0 dims = [1] : tensor<80xf32> -> tensor<64x80xf32>
  %2 = nn.sub %a, %1 : tensor<64x80xf32>
  return %2 : tensor<64x80xf32>
}
// A result behind it reads the row that was overwritten.
func.func private @first(%a: tensor<64x80xf32>) -> (tensor<64x80xf32>, tensor<64xf32>) attributes {rt.kernel} {
  %0 = nn.exp %a : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %1 = nn.reduce sum %a dims = [1] : tensor<64x80xf32> -> tensor<64xf32>
  return %0, %1 : tensor<64x80xf32>, tensor<64xf32>
}
// So does the other half of a row that is turned round.
func.func private @turned(%a: tensor<64x80xf32>) -> tensor<64x80xf32> attributes {rt.kernel} {
  %0 = nn.reverse %a dims = [1] : tensor<64x80xf32> -> tensor<64x80xf32>
  %1 = nn.add %a, %0 : (tensor<64x80xf32>, tensor<64x80xf32>) -> tensor<64x80xf32>
  return %1 : tensor<64x80xf32>
}
// What is looked up in a row is there before the row is overwritten.
func.func private @picked(%a: tensor<64x80xf32>, %i: tensor<64x1xi64>) -> tensor<64x80xf32> attributes {rt.kernel} {
  %0 = nn.gather %a, %i indexed = [1] operand_batch = [0] indices_batch = [0] : (tensor<64x80xf32>, tensor<64x1xi64>) -> tensor<64xf32>
  %1 = nn.broadcast %0 dims = [0] : tensor<64xf32> -> tensor<64x80xf32>
  %2 = nn.sub %a, %1 : tensor<64x80xf32>
  return %2 : tensor<64x80xf32>
}
