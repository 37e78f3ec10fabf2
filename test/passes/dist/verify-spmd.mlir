// RUN: weft-opt %s --dist-verify-spmd --split-input-file --verify-diagnostics

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A right program: no diagnostic.
func.func @right(%x: tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>,
                 %w: tensor<8x4xf32, #dist.local<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>, tensor<8x4xf32, #dist.local<#mesh, [16{"tp"}, 4]>>)
      -> tensor<8x4xf32, #dist.local<#mesh, [8, 4], partial = sum["tp"]>>
  %1 = dist.all_reduce %0 ["tp"] accumulate f32 : tensor<8x4xf32, #dist.local<#mesh, [8, 4], partial = sum["tp"]>>
      -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
  return %1 : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A missing reduction.
func.func @missing(%x: tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>,
                   %w: tensor<8x4xf32, #dist.local<#mesh, [16{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>> {
  // expected-error @below {{result 0 is placed as [8, 4], expected [8, 4], partial = sum["tp"]}}
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>, tensor<8x4xf32, #dist.local<#mesh, [16{"tp"}, 4]>>)
      -> tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
  return %0 : tensor<8x4xf32, #dist.local<#mesh, [8, 4]>>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{result 0 is partial: [], partial = sum["tp"]}}
func.func @returned_partial(%x: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>) -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>> {
  // expected-note @below {{this op leaves the sum to its consumers}}
  %0 = nn.reduce sum %x dims = [0] : tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
  return %0 : tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// exp of a sum is not the sum of exps.
func.func @nonlinear(%x: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>) {
  // expected-note @below {{operand 0 is made here, as [], partial = sum["tp"]}}
  %0 = nn.reduce sum %x dims = [0] : tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
  // expected-error @below {{the op does not commute with sum of operand 0, partial on axis "tp"}}
  %1 = nn.exp %0 : (tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>) -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=4]>
module attributes {dist.mesh = #mesh} {
// Padding must not leak into a sum.
func.func @padding(%x: tensor<3xf32, #dist.local<#mesh, [10{"tp"}]>>) {
  // expected-error @below {{operand 0 is placed as [10{"tp"}], expected [10{"tp"}], padding = sum}}
  %0 = nn.reduce sum %x dims = [0] : tensor<3xf32, #dist.local<#mesh, [10{"tp"}]>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// Global positions in a local table.
func.func @unlocalized(%table: tensor<50x8xf32, #dist.local<#mesh, [100{"tp"}, 8]>>, %ids: tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>) {
  // expected-error @below {{operand 1 is placed as [4, 1], expected [4, 1], local_indices = [0 : 100{"tp"}]}}
  %0 = nn.gather %table, %ids indexed = [0] operand_batch = [] indices_batch = []
      : (tensor<50x8xf32, #dist.local<#mesh, [100{"tp"}, 8]>>, tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>)
      -> tensor<4x8xf32, #dist.local<#mesh, [4, 8], partial = sum["tp"]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{argument 1 has no #dist.local on the module's mesh: 'tensor<4xf32>'}}
func.func @no_placement(%x: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>, %y: tensor<4xf32>) {
  // expected-error @below {{operand 1 has no #dist.local on the module's mesh: 'tensor<4xf32>'}}
  %0 = nn.add %x, %y : (tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>, tensor<4xf32>) -> tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// Collectives do not belong among global shapes.
func.func @phase(%x: tensor<8xf32, #dist.placement<#mesh, [8{"tp"}]>>) {
  // expected-error @below {{result 0 has no #dist.placement on the module's mesh}}
  %0 = nn.cast %x : (tensor<8xf32, #dist.placement<#mesh, [8{"tp"}]>>) -> tensor<8xf64>
  return
}
}

// -----

#mesh = #dist.mesh<["dp"=2]>
module attributes {dist.mesh = #mesh} {
// A new value that is not where the state is stored.
// expected-error @below {{result 0 updates state 'w', stored as 'tensor<4xf32, #dist.local<#dist.mesh<["dp"=2]>, [8{"dp"}]>>', by 'tensor<8xf32, #dist.local<#dist.mesh<["dp"=2]>, [8]>>'}}
func.func @update(%w: tensor<4xf32, #dist.local<#mesh, [8{"dp"}]>> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<8xf32, #dist.local<#mesh, [8]>> {nn.updates = "w"}) {
  // expected-note @below {{the new value is made here}}
  %0 = dist.all_gather %w ["dp"] dim 0 : tensor<4xf32, #dist.local<#mesh, [8{"dp"}]>> -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return %0 : tensor<8xf32, #dist.local<#mesh, [8]>>
}
}

// -----

#mesh = #dist.mesh<["dp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-note @below {{this is the other program's}}
func.func @step(%w: tensor<4xf32, #dist.local<#mesh, [8{"dp"}]>> {nn.name = "w", nn.initial = 0.0 : f32}) {
  return
}
// A program that takes a state to be elsewhere.
// expected-error @below {{state 'w' is stored as 'tensor<8xf32, #dist.local<#dist.mesh<["dp"=2]>, [8]>>', in another program as}}
func.func @eval(%w: tensor<8xf32, #dist.local<#mesh, [8]>> {nn.name = "w", nn.initial = 0.0 : f32}) {
  return
}
}

// -----

#mesh = #dist.mesh<["dp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
// A sum over devices that is missing in the body of a loop.
func.func @loop(%x: tensor<4xf32, #dist.local<#mesh, [8{"dp"}]>>) {
  %0 = dist.repeat "mb" {
    // expected-note @below {{operand 0 is made here, as [8{"dp","mb"}]}}
    %1 = dist.slice %x ["mb"] dim 0 : tensor<4xf32, #dist.local<#mesh, [8{"dp"}]>> -> tensor<2xf32, #dist.local<#mesh, [8{"dp","mb"}]>>
    // expected-error @below {{result 0 is placed as [], partial = sum["mb"], expected [], partial = sum["dp","mb"]}}
    %2 = nn.reduce sum %1 dims = [0] : tensor<2xf32, #dist.local<#mesh, [8{"dp","mb"}]>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["mb"]>>
    dist.accumulate %2 in [f32] : tensor<f32, #dist.local<#mesh, [], partial = sum["mb"]>>
  } : tensor<f32, #dist.local<#mesh, []>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// An op that differs from a right one in an operand's type alone, or in an attribute alone, is judged by itself.
func.func @nearly_alike(%x: tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>,
                        %y: tensor<8x8xf32, #dist.local<#mesh, [16{"tp"}, 8]>>) {
  %0 = nn.add %x, %x : (tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>, tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>) -> tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>
  %1 = nn.add %x, %x : (tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>, tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>) -> tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>
  // expected-error @below {{its factors do not fit its global types: operand 1 dim 0: factors multiply to 8, size is 16}}
  %2 = "nn.add"(%x, %y) : (tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>, tensor<8x8xf32, #dist.local<#mesh, [16{"tp"}, 8]>>)
      -> tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>>
  %3 = nn.transpose %x permutation = [1, 0] : tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>> -> tensor<8x8xf32, #dist.local<#mesh, [16{"tp"}, 8]>>
  // expected-error @below {{its factors do not fit its global types: result 0 dim 0: factors multiply to 8, size is 16}}
  %4 = nn.transpose %x permutation = [0, 1] : tensor<8x8xf32, #dist.local<#mesh, [8, 16{"tp"}]>> -> tensor<8x8xf32, #dist.local<#mesh, [16{"tp"}, 8]>>
  return
}
}
