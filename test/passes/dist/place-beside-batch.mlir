// RUN: weft-opt %s --split-input-file --dist-place="batch-axes=dp" 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=HINT < %t.err
// RUN: not weft-opt %s --split-input-file --dist-place="batch-axes=dp whole-microbatches=true" 2>&1 | FileCheck %s --check-prefix=WHOLE

// Where no dim is called batch, what has fewer rows than another input and cannot be cut into microbatches is none.
// CHECK-LABEL: func.func @static
// CHECK-SAME: %{{[^:]+}}: tensor<32x8xf32> {dist.placement = {{.*}}dist.used = {{.*}}nn.name = "x"}
// CHECK-SAME: %{{[^:]+}}: tensor<4xf32> {dist.placement = #dist.placement<#mesh, [4{"dp"}]>, nn.name = "scale"}
module attributes {dist.mesh = #dist.mesh<["dp"=2, temporal "mb"=8]>} {
func.func @static(%x: tensor<32x8xf32> {nn.name = "x"}, %scale: tensor<4xf32> {nn.name = "scale"}) -> (tensor<32x8xf32> {nn.name = "y"}, tensor<4xf32> {nn.name = "z"}) {
  return %x, %scale : tensor<32x8xf32>, tensor<4xf32>
}
}

// -----

// A hint that does not fit is told once, however many programs have the value.
// HINT: warning: 1 of 1 placements that the model's device configuration asks for are not kept: 1 do not fit, 0 name no value of the program
module attributes {dist.mesh = #dist.mesh<["dp"=2]>, dist.devices = {w = "dim5:dp"}} {
func.func @forward(%x: tensor<8x4xf32> {nn.name = "x"}, %w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<4xf32> {nn.name = "y"}) {
  return %w : tensor<4xf32>
}
func.func @eval(%x: tensor<8x4xf32> {nn.name = "x"}, %w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<4xf32> {nn.name = "y"}) {
  return %w : tensor<4xf32>
}
}

// -----

// WHOLE: error: input 'x': a batch of 24 is not a multiple of 8 microbatches of 2 shards
// WHOLE-NOT: input 'scale'
module attributes {dist.mesh = #dist.mesh<["dp"=2, temporal "mb"=8]>} {
func.func @whole(%x: tensor<24x8xf32> {nn.name = "x"}, %scale: tensor<4xf32> {nn.name = "scale"}) -> (tensor<4xf32> {nn.name = "z"}) {
  return %scale : tensor<4xf32>
}
}
