// RUN: weft-opt %s --rt-materialize-updates --rt-elide-update-copies --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// Why new values are copied into their states: each cause by itself.

// CHECK-NOT: remark: 
// CHECK: remark: [Missed] copied
// CHECK-SAME: is copied into state 'w' at the end, because 'rt.call' reads the old value after the new one is made
func.func @late(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}, %g: tensor<4xf32> {nn.name = "g"})
    -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32> {nn.updates = "w"}) {
  %0 = rt.call @k(%g, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.call @k(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
func.func private @k(%g: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.sub %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A reduction may not write before it has read everything.
// CHECK-NOT: remark: 
// CHECK: remark: [Missed] copied
// CHECK-SAME: is copied into state 'w' at the end, because it cannot write over the old value while it reads it
func.func @scanned(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}) -> (tensor<4xf32> {nn.updates = "w"}) {
  %0 = rt.call @scan(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @scan(%w: tensor<4xf32>) -> tensor<4xf32> attributes {rt.kernel} {
  %0 = nn.scan sum %w dim = 0 : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-NOT: remark: 
// CHECK: remark: [Missed] copied
// CHECK-SAME: is copied into state 'w' at the end, because it reads the old value as two operands
func.func @twice(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}) -> (tensor<4xf32> {nn.updates = "w"}) {
  %0 = rt.call @k(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// What overwrites its state is not told.
// CHECK-NOT: remark: 
func.func @inPlace(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}, %g: tensor<4xf32> {nn.name = "g"})
    -> (tensor<4xf32> {nn.updates = "w"}) {
  %0 = rt.call @k(%g, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
