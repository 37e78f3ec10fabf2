// RUN: weft-opt %s --dist-insert-reshards --split-input-file --verify-diagnostics

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @request(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @below {{operand 0 is made here, as [8]}}
  %n = nn.tanh %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{result 0 of 'nn.exp' is requested partial on axis "tp", but is computed as [8]}}
  %0 = nn.exp %n {dist.placements = [#dist.placement<#mesh, [8], partial = sum["tp"]>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @operands(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note @below {{operand 1 is made here, as [8]}}
  %n = nn.tanh %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{'nn.add' cannot read its operands as dist.operands asks: operand 1 holds a factor of size 8 as 8, another operand or result as 8{"tp"}}}
  %0 = nn.add %x, %n {dist.operands = [#dist.placement<#mesh, [8{"tp"}]>, #dist.placement<#mesh, [8]>]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}

// -----

// What reads a result that could not be placed is not placed either.
#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @reader(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{result 0 of 'nn.exp' is requested partial on axis "tp", but is computed as [8]}}
  %0 = nn.exp %x {dist.placements = [#dist.placement<#mesh, [8], partial = sum["tp"]>]} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.add %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
}

// -----

// expected-error @below {{has no mesh: attach one with --dist-attach-mesh}}
module {
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{argument 0 cannot be partial}}
func.func @argument(%x: tensor<8xf32> {dist.placement = #dist.placement<#mesh, [8], partial = sum["tp"]>}) {
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{argument 0 is no tensor}}
func.func @number(%x: f32) {
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @regions(%x: tensor<8xf32>) {
  // expected-error @below {{has regions, which cannot be placed on a mesh}}
  scf.execute_region {
    scf.yield
  }
  return
}
}
