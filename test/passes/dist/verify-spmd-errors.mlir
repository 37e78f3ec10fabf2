// RUN: weft-opt %s --dist-verify-spmd --split-input-file --verify-diagnostics
// What no op can see by itself: functions, ports, phases, and splits that the factor rule of an op does not allow.

// expected-error @below {{has no mesh: attach one with --dist-attach-mesh}}
module {
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{has no body, so what its devices compute is unknown}}
func.func private @outside(tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>)
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{branches, which a program of one device must not}}
func.func @branches(%x: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>) {
  cf.br ^next
^next:
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @regions(%x: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>) {
  // expected-error @below {{has regions or successors, whose meaning under placements is not defined}}
  scf.execute_region {
    scf.yield
  }
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{argument 0 holds local indices}}
func.func @indices(%x: tensor<4x1xi64, #dist.local<#mesh, [4, 1], local_indices = [0 : 100{"tp"}]>>) {
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=4]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{argument 0 claims to know its padding}}
func.func @padding(%x: tensor<3xf32, #dist.local<#mesh, [10{"tp"}], padding = sum>>) {
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{argument 0 is no tensor: 'index'}}
func.func @no_tensor(%x: index, %y: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>) {
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
func.func @phase(%x: tensor<8xf32, #dist.placement<#mesh, [8]>>) {
  // expected-error @below {{does not belong at this phase}}
  "dist.repeat"() <{axis = "mb"}> ({
    "dist.accumulate"() <{accumulate = []}> : () -> ()
  }) : () -> ()
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A softmax needs its row whole.
func.func @whole(%x: tensor<8x4xf32, #dist.local<#mesh, [8, 8{"tp"}]>>) {
  // expected-error @below {{axis "tp" splits a factor of size 8 that the op needs whole}}
  %0 = nn.softmax %x dim = 1 : (tensor<8x4xf32, #dist.local<#mesh, [8, 8{"tp"}]>>) -> tensor<8x4xf32, #dist.local<#mesh, [8, 8{"tp"}]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @disagree(%x: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>, %y: tensor<4xf32, #dist.local<#mesh, [4]>>) {
  // expected-error @below {{its factors do not fit its global types}}
  %0 = nn.add %x, %y : (tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>, tensor<4xf32, #dist.local<#mesh, [4]>>) -> tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @partial_and_split(%x: tensor<4x4xf32, #dist.local<#mesh, [4, 4]>>, %y: tensor<4x4xf32, #dist.local<#mesh, [4, 8{"tp"}]>>) {
  // expected-note @below {{operand 0 is made here, as [4, 4], partial = sum["tp"]}}
  %0 = dist.partialize %x ["tp"] : tensor<4x4xf32, #dist.local<#mesh, [4, 4]>> -> tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["tp"]>>
  // expected-error @below {{axis "tp" is partial in an operand and splits a factor}}
  %1 = nn.contract %0, %y lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x4xf32, #dist.local<#mesh, [4, 4], partial = sum["tp"]>>, tensor<4x4xf32, #dist.local<#mesh, [4, 8{"tp"}]>>)
      -> tensor<4x4xf32, #dist.local<#mesh, [4, 8{"tp"}]>>
  return
}
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=2]>
module attributes {dist.mesh = #mesh} {
// A sum and a maximum are due on one axis.
func.func @kinds(%x: tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>) {
  // expected-note @below {{operand 0 is made here, as [], partial = sum["tp"]}}
  %0 = nn.reduce sum %x dims = [0] : tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
  // expected-note @below {{operand 1 is made here, as [], partial = max["tp"]}}
  %1 = nn.reduce max %x dims = [0] : tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>> -> tensor<f32, #dist.local<#mesh, [], partial = max["tp"]>>
  // expected-error @below {{operands are partial on axis "tp" by different kinds}}
  %3 = nn.add %0, %1 : (tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>, tensor<f32, #dist.local<#mesh, [], partial = max["tp"]>>) -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>
  return
}
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @other_kind(%x: tensor<4x8x4xf32, #dist.local<#mesh, [8{"dp"}, 8, 8{"tp"}]>>) {
  // expected-note @below {{operand 0 is made here}}
  %0 = nn.reduce max %x dims = [2] : tensor<4x8x4xf32, #dist.local<#mesh, [8{"dp"}, 8, 8{"tp"}]>> -> tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8], partial = max["tp"]>>
  // expected-error @below {{axis "dp" splits a reduction of kind sum while the results are partial by max}}
  %1 = nn.reduce sum %0 dims = [0] : tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8], partial = max["tp"]>> -> tensor<8xf32, #dist.local<#mesh, [8], partial = sum["dp"]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// A dim of 3 x 4 cannot be split as one.
func.func @factors(%x: tensor<6xf32, #dist.local<#mesh, [12{"tp"}]>>) {
  // expected-error @below {{does not split over its factors 3 x 4}}
  %0 = nn.reshape %x : tensor<6xf32, #dist.local<#mesh, [12{"tp"}]>> -> tensor<3x2xf32, #dist.local<#mesh, [3, 4{"tp"}]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{result 0 updates 'w', which is no state}}
func.func @no_state(%w: tensor<8xf32, #dist.local<#mesh, [8]>>) -> (tensor<8xf32, #dist.local<#mesh, [8]>> {nn.updates = "w"}) {
  return %w : tensor<8xf32, #dist.local<#mesh, [8]>>
}
}

// -----

// A value is read on a stage that does not hold it: the cut lacks a move.
#mesh = #dist.mesh<[stages "pp"=2, "tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @missing_move(%x: tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>, %w: tensor<8x4xf32, #dist.local<#mesh, [8, 8{"tp"}], held = "pp"[1]>>) {
  // expected-note @below {{operand 0 is made here, as [8, 8], held = "pp"[0]}}
  %0 = nn.exp %x : (tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>) -> tensor<8x8xf32, #dist.local<#mesh, [8, 8], held = "pp"[0]>>
  // expected-error @below {{operand 0 is not on every stage of the result: [8, 8], held = "pp"[0], [8, 8{"tp"}], held = "pp"[1]}}
  %1 = nn.contract %0, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x8xf32, #dist.local<#mesh, [8, 8], held = "pp"[0]>>, tensor<8x4xf32, #dist.local<#mesh, [8, 8{"tp"}], held = "pp"[1]>>) -> tensor<8x4xf32, #dist.local<#mesh, [8, 8{"tp"}], held = "pp"[1]>>
  return
}
}

// -----

// The gradient of a tied weight is added on one stage, the weight is on two.
#mesh = #dist.mesh<[stages "pp"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{result 0 updates state 'w'}}
func.func @tied(%w: tensor<8xf32, #dist.local<#mesh, [8]>> {nn.name = "w", nn.initial = 0.0 : f32},
                %g: tensor<8xf32, #dist.local<#mesh, [8], held = "pp"[1]>>)
    -> (tensor<8xf32, #dist.local<#mesh, [8], held = "pp"[1]>> {nn.updates = "w"}) {
  // expected-note @below {{the new value is made here}}
  %0 = nn.sub %w, %g : (tensor<8xf32, #dist.local<#mesh, [8]>>, tensor<8xf32, #dist.local<#mesh, [8], held = "pp"[1]>>) -> tensor<8xf32, #dist.local<#mesh, [8], held = "pp"[1]>>
  return %0 : tensor<8xf32, #dist.local<#mesh, [8], held = "pp"[1]>>
}
}

// -----

#mesh = #dist.mesh<[stages "pp"=2]>
module attributes {dist.mesh = #mesh} {
// An op runs on the stages of all its results.
func.func @apart(%x: tensor<4x8xf32, #dist.local<#mesh, [4, 8]>>) {
  // expected-error @below {{result 1 is on other stages than result 0: [4, 2], held = "pp"[1], [4, 2], held = "pp"[0]}}
  %0:2 = nn.top_k %x dim = 1 : (tensor<4x8xf32, #dist.local<#mesh, [4, 8]>>) -> (tensor<4x2xf32, #dist.local<#mesh, [4, 2], held = "pp"[0]>>, tensor<4x2xi64, #dist.local<#mesh, [4, 2], held = "pp"[1]>>)
  return
}
}

// -----

// What a program gives is of the whole batch: callers know no microbatches.
#mesh = #dist.mesh<[temporal "mb"=2]>
module attributes {dist.mesh = #mesh} {
// expected-error @below {{result 0 is that of one microbatch: [8{"mb"}, 4]}}
func.func @microbatch(%x: tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>) -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>> {
  %0 = nn.exp %x : (tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>) -> tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
  return %0 : tensor<4x4xf32, #dist.local<#mesh, [8{"mb"}, 4]>>
}
}
