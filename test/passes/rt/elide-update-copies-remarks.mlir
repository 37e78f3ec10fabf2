// RUN: weft-opt %s --rt-materialize-updates --rt-elide-update-copies --remarks-filter=".*" -o /dev/null 2>&1 | FileCheck %s
// A state that something reads after its new value was made is copied at the end.

// CHECK: remark: [Missed] copied
// CHECK-SAME: is copied into state 'w' at the end, because 'rt.call' reads the old value too late to overwrite it
// CHECK-NOT: remark
func.func @late(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}, %g: tensor<4xf32> {nn.name = "g"})
    -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32> {nn.updates = "w"}) {
  %0 = rt.call @k(%g, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = rt.call @k(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
func.func private @k(%g: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {rt.pieces = 4 : i64} {
  %0 = nn.sub %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
