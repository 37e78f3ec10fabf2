// RUN: weft-opt %s --split-input-file --verify-diagnostics

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// An axis appears once in a placement.
// expected-error @below {{axis "tp" appears twice}}
func.func private @twice(tensor<8x8xf32, #dist.placement<#mesh, [8{"tp"}, 8{"tp"}]>>)

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// expected-error @below {{axis "cp" is not on the mesh}}
func.func private @unknown(tensor<8xf32, #dist.placement<#mesh, [8{"cp"}]>>)

// -----

// expected-error @below {{axis "a" is given twice}}
func.func private @mesh(tensor<8xf32, #dist.placement<#dist.mesh<["a"=2, "a"=2]>, [8]>>)

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// The shape of a placed type is global, of a local type local.
// expected-error @below {{shape is 2, but the global shape of its placement is 8}}
func.func private @shape(tensor<2xf32, #dist.placement<#mesh, [8{"tp"}]>>)

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// expected-error @below {{shape is 8, but the local shape of its placement is 2}}
func.func private @local_shape(tensor<8xf32, #dist.local<#mesh, [8{"tp"}]>>)

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// expected-error @below {{padding and local_indices belong to #dist.local}}
func.func private @padding(tensor<5xf32, #dist.placement<#mesh, [5{"tp"}], padding = sum>>)

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @gather_other_axis(%x: tensor<2xf32, #dist.local<#mesh, [8{"tp"}]>>) {
  // expected-error @below {{"dp" are not the minor-most axes of a part of dim 0, placed as 8{"tp"}}}
  %0 = dist.all_gather %x ["dp"] dim 0 : tensor<2xf32, #dist.local<#mesh, [8{"tp"}]>>
      -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @gather_reduces(%x: tensor<2xf32, #dist.local<#mesh, [8{"tp"}], partial = sum["dp"]>>) {
  // expected-error @below {{result is placed as [8], which all_gather does not make of [8{"tp"}], partial = sum["dp"]}}
  %0 = dist.all_gather %x ["tp"] dim 0 : tensor<2xf32, #dist.local<#mesh, [8{"tp"}], partial = sum["dp"]>>
      -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @reduce_twice(%x: tensor<8xf32, #dist.local<#mesh, [8]>>) {
  // expected-error @below {{the input is not partial on axis "tp"}}
  %0 = dist.all_reduce %x ["tp"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8]>>
      -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @accumulate(%x: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>) {
  // expected-error @below {{cannot accumulate}}
  %0 = dist.all_reduce %x ["tp"] accumulate i32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>
      -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @same_dim(%x: tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>>) {
  // expected-error @below {{needs two distinct dims below the tensor rank 2}}
  %0 = dist.all_to_all %x ["tp"] gather 0 split 0 : tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>>
      -> tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// Padding that was anything does not become neutral by slicing another dim.
func.func @padding_invented(%x: tensor<2x8xf32, #dist.local<#mesh, [5{"tp"}, 8]>>) {
  // expected-error @below {{the padding of the input is not neutral for sum, so that of the result is not}}
  %0 = dist.slice %x ["dp"] dim 1 : tensor<2x8xf32, #dist.local<#mesh, [5{"tp"}, 8]>>
      -> tensor<2x4xf32, #dist.local<#mesh, [5{"tp"}, 8{"dp"}], padding = sum>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @mask_nothing(%x: tensor<2xf32, #dist.local<#mesh, [8{"tp"}]>>) {
  // expected-error @below {{the result must have padding and name what it holds}}
  %0 = dist.mask %x : tensor<2xf32, #dist.local<#mesh, [8{"tp"}]>>
      -> tensor<2xf32, #dist.local<#mesh, [8{"tp"}]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @component(%ids: tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>) {
  // expected-error @below {{components must be distinct and below 1}}
  %0 = dist.localize_index %ids : tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>
      -> tensor<4x1xi64, #dist.local<#mesh, [4, 1], local_indices = [1 : 100{"tp"}]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// expected-error @below {{'dist.placement' of argument 0: parts of dim 0 multiply to 8, its size is 4}}
func.func @attribute(%x: tensor<4xf32> {dist.placement = #dist.placement<#mesh, [8{"dp"}]>}) {
  return
}
// -----

// A loop reads the same values each time.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @from_outside(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  %0 = dist.slice %x ["mb"] dim 0 : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>> -> tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
  %1 = dist.repeat "mb" {
    // expected-error @below {{'nn.reduce' op reads a value of one microbatch from outside of its loop}}
    %2 = nn.reduce sum %0 dims = [0] : tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["dp","mb"]>>
    dist.accumulate %2 in [f32] : tensor<f32, #dist.local<#mesh, [], partial = sum["dp","mb"]>>
  } : tensor<f32, #dist.local<#mesh, [], partial = sum["dp"]>>
  return
}
}

// -----

// What is brought together is partial on the axis, or split over it.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @not_partial(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  // expected-error @below {{result 0: the operand is neither partial on axis "mb" nor split over it: [16{"dp"}]}}
  %1 = dist.repeat "mb" {
    dist.accumulate %x in [f32] : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
  } : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
  return
}
}

// -----

// Rows that are put in place are rows of the result.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @other_rows(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  // expected-error @below {{result 0: result is placed as [16], which all_gather does not make of [16{"dp","mb"}]}}
  %1 = dist.repeat "mb" {
    %0 = dist.slice %x ["mb"] dim 0 : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>> -> tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
    dist.accumulate %0 in [f32] : tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
  } : tensor<16xf32, #dist.local<#mesh, [16]>>
  return
}
func.func @gathers(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  %1 = dist.repeat "mb" {
    %0 = dist.slice %x ["mb"] dim 0 : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>> -> tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
    // expected-error @below {{brings microbatches together within their loop}}
    %2 = dist.all_gather %0 ["mb"] dim 0 : tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>> -> tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
    dist.accumulate %0 in [f32] : tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
  } : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
  return
}
}

// -----

// Nothing is cast on the way.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @other_type(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  // expected-error @below {{result 0: operand and result differ in element type}}
  %1 = dist.repeat "mb" {
    %0 = dist.slice %x ["mb"] dim 0 : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>> -> tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
    dist.accumulate %0 in [f32] : tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
  } : tensor<8xbf16, #dist.local<#mesh, [16{"dp"}]>>
  return
}
func.func @not_placed(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  // expected-error @below {{result 0: operand and result must have a #dist.local on the module's mesh}}
  %1 = dist.repeat "mb" {
    %0 = dist.slice %x ["mb"] dim 0 : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>> -> tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
    dist.accumulate %0 in [f32] : tensor<2xf32, #dist.local<#mesh, [16{"dp","mb"}]>>
  } : tensor<8xf32>
  return
}
}

// -----

// Devices do not repeat in time.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @in_space(%x: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["dp"]>>) {
  // expected-error @below {{'dp' is no temporal axis of the module's mesh}}
  %1 = dist.repeat "dp" {
    dist.accumulate %x in [f32] : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["dp"]>>
  } : tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}
}

// -----

// expected-error @below {{temporal axes come last}}
#mesh = #dist.mesh<[temporal "mb"=4, "dp"=2]>
module attributes {dist.mesh = #mesh} {
}

// -----

#mesh = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @reason(%x: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>) {
  // expected-error @below {{'dist.reason' must be a #dist.reason}}
  %0 = dist.all_reduce %x ["tp"] accumulate f32 {dist.reason = "because"} : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>> -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}
}

// -----

// expected-error @below {{sizes must be positive and multiply to at most 2^20 devices}}
func.func private @mesh(tensor<8xf32, #dist.placement<#dist.mesh<["a"=0]>, [8]>>)

// -----

// expected-error @below {{sizes must be positive and multiply to at most 2^20 devices}}
func.func private @mesh(tensor<8xf32, #dist.placement<#dist.mesh<["a"=1048576, "b"=2]>, [8]>>)

// -----

#mesh = #dist.mesh<["tp"=4]>
// expected-error @below {{sizes are not negative}}
func.func private @size(tensor<8xf32, #dist.placement<#mesh, [-8]>>)

// -----

#mesh = #dist.mesh<["tp"=4]>
// expected-error @below {{expected sum, prod, max, min, and, or}}
func.func private @kind(tensor<8xf32, #dist.placement<#mesh, [8], partial = mean["tp"]>>)

// -----

#mesh = #dist.mesh<["tp"=4]>
// expected-error @below {{expected partial, padding, local_indices or held}}
func.func private @clause(tensor<8xf32, #dist.placement<#mesh, [8], due = sum["tp"]>>)

// -----

#mesh = #dist.mesh<["tp"=4]>
// expected-error @below {{dim 0 splits a part without elements}}
func.func private @empty(tensor<0xf32, #dist.placement<#mesh, [0{"tp"}]>>)

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
// expected-error @below {{partial axes of different kinds do not commute}}
func.func private @kinds(tensor<8xf32, #dist.placement<#mesh, [8], partial = sum["dp"], partial = max["tp"]>>)

// -----

#mesh = #dist.mesh<["tp"=4]>
// expected-error @below {{'dist.placement' of argument 0: placement has 2 dims, tensor rank is 1}}
func.func @rank(%x: tensor<8xf32> {dist.placement = #dist.placement<#mesh, [8, 1]>}) {
  return
}

// -----

// expected-error @below {{'dist.placement' of argument 0 must be a #dist.placement of a tensor}}
func.func @no_placement(%x: tensor<8xf32> {dist.placement = "tp"}) {
  return
}

// -----

// expected-error @below {{'dist.mesh' must be a #dist.mesh on a module}}
module attributes {dist.mesh = "tp=2"} {
}

// -----

// expected-error @below {{'dist.devices' must be a dictionary on a module}}
module attributes {dist.devices = 1} {
}

// -----

// expected-error @below {{'dist.node_stages' must be a dictionary of stages on a module}}
module attributes {dist.node_stages = {x = "first"}} {
}

// -----

// expected-error @below {{'dist.recorded' must be a dictionary of placements on a module}}
module attributes {dist.recorded = {x = 1}} {
}

// -----

#mesh = #dist.mesh<["tp"=2]>
// expected-error @below {{'dist.batch_axes' must be a list of axes of the mesh on a module}}
module attributes {dist.mesh = #mesh, dist.batch_axes = ["dp"]} {
}

// -----

// expected-error @below {{unknown attribute 'dist.closde'}}
module attributes {dist.closde} {
}

// -----

func.func @reasons(%x: tensor<8xf32>) {
  // expected-error @below {{'dist.reasons' must be a list of #dist.reason}}
  %0 = nn.exp %x {dist.reasons = ["because"]} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @placements(%x: tensor<8xf32>) {
  // expected-error @below {{'dist.placements' must be a list of 1 placements}}
  %0 = nn.exp %x {dist.placements = []} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @element(%x: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>) {
  // expected-error @below {{operand and result differ in element type}}
  %0 = dist.all_reduce %x ["tp"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>> -> tensor<8xf64, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @local(%x: tensor<8xf32>) {
  // expected-error @below {{operand and result must have a #dist.local on one mesh}}
  %0 = dist.all_reduce %x ["tp"] accumulate f32 : tensor<8xf32> -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @axis(%x: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>) {
  // expected-error @below {{names an axis that is not on the mesh}}
  %0 = dist.all_reduce %x ["dp"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>> -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @ranks(%x: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>>) {
  // expected-error @below {{input and result differ in tensor rank}}
  %0 = dist.all_reduce %x ["tp"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>> -> tensor<8x1xf32, #dist.local<#mesh, [8, 1]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @indices(%x: tensor<8xi64, #dist.local<#mesh, [8], local_indices = [0 : 100{"tp"}]>>) {
  // expected-error @below {{local indices cannot change their placement}}
  %0 = dist.slice %x ["tp"] dim 0 : tensor<8xi64, #dist.local<#mesh, [8], local_indices = [0 : 100{"tp"}]>> -> tensor<4xi64, #dist.local<#mesh, [8{"tp"}]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @dim(%x: tensor<8xf32, #dist.local<#mesh, [8]>>) {
  // expected-error @below {{dim 1 is not below the tensor rank 1}}
  %0 = dist.slice %x ["tp"] dim 1 : tensor<8xf32, #dist.local<#mesh, [8]>> -> tensor<4xf32, #dist.local<#mesh, [8{"tp"}]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @no_axes(%x: tensor<8xf32, #dist.local<#mesh, [8]>>) {
  // expected-error @below {{needs at least one axis}}
  %0 = dist.all_reduce %x [] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8]>> -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @partialize(%x: tensor<8xf32, #dist.local<#mesh, [8]>>) {
  // expected-error @below {{the result is not partial on all axes of the transition}}
  %0 = dist.partialize %x ["tp"] : tensor<8xf32, #dist.local<#mesh, [8]>> -> tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @reshard_shape(%x: tensor<8xf32, #dist.placement<#mesh, [8]>>) {
  // expected-error @below {{changes shape or element type}}
  %0 = dist.reshard %x : tensor<8xf32, #dist.placement<#mesh, [8]>> -> tensor<4xf32, #dist.placement<#mesh, [4]>>
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
func.func @reshard_placed(%x: tensor<8xf32>) {
  // expected-error @below {{operand and result must have a #dist.placement on one mesh}}
  %0 = dist.reshard %x : tensor<8xf32> -> tensor<8xf32, #dist.placement<#mesh, [8]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @types(%x: tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>) {
  %1 = dist.repeat "mb" {
    // expected-error @below {{has 1 operands and 2 types of accumulation}}
    dist.accumulate %x in [f32, f32] : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>
  } : tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}
}

// -----

#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @results(%x: tensor<8xf32, #dist.local<#mesh, [8]>>) {
  // expected-error @below {{has 2 results, its body accumulates 1}}
  %1:2 = dist.repeat "mb" {
    %0 = dist.partialize %x ["mb"] : tensor<8xf32, #dist.local<#mesh, [8]>> -> tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>
    dist.accumulate %0 in [f32] : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>
  } : tensor<8xf32, #dist.local<#mesh, [8]>>, tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}
}

// -----

#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @reduces(%x: tensor<8xf32, #dist.local<#mesh, [8]>>) {
  %1 = dist.repeat "mb" {
    %0 = dist.partialize %x ["mb"] : tensor<8xf32, #dist.local<#mesh, [8]>> -> tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>
    // expected-error @below {{brings microbatches together within their loop}}
    %2 = dist.all_reduce %0 ["mb"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>> -> tensor<8xf32, #dist.local<#mesh, [8]>>
    dist.accumulate %0 in [f32] : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["mb"]>>
  } : tensor<8xf32, #dist.local<#mesh, [8]>>
  return
}
}

// -----

#mesh = #dist.mesh<["tp"=4]>
func.func @not_localized(%ids: tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>) {
  // expected-error @below {{the result, and only it, must have local_indices}}
  %0 = dist.localize_index %ids : tensor<4x1xi64, #dist.local<#mesh, [4, 1]>> -> tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @partial_indices(%ids: tensor<4x1xi64, #dist.local<#mesh, [4, 1], partial = sum["dp"]>>) {
  // expected-error @below {{partial indices have no positions}}
  %0 = dist.localize_index %ids : tensor<4x1xi64, #dist.local<#mesh, [4, 1], partial = sum["dp"]>>
      -> tensor<4x1xi64, #dist.local<#mesh, [4, 1], partial = sum["dp"], local_indices = [0 : 100{"tp"}]>>
  return
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=4]>
func.func @split_indices(%ids: tensor<4x1xi64, #dist.local<#mesh, [4, 2{"dp"}]>>) {
  // expected-error @below {{the innermost dim must be whole}}
  %0 = dist.localize_index %ids : tensor<4x1xi64, #dist.local<#mesh, [4, 2{"dp"}]>>
      -> tensor<4x1xi64, #dist.local<#mesh, [4, 2{"dp"}], local_indices = [0 : 100{"tp"}]>>
  return
}

// -----

// expected-error @below {{a mesh has at most one axis of stages}}
func.func private @mesh(tensor<8xf32, #dist.placement<#dist.mesh<[stages "a"=2, stages "b"=2]>, [8]>>)

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
// expected-error @below {{stage 4 is not among the 4 of axis "pp"}}
func.func private @stage(tensor<8xf32, #dist.placement<#pp, [8], held = "pp"[4]>>)

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
// expected-error @below {{no stage of axis "pp" holds the value}}
func.func private @nowhere(tensor<8xf32, #dist.placement<#pp, [8], held = "pp"[]>>)

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
// expected-error @below {{axis "dp" counts no stages, so that no value is held by some of it}}
func.func private @space(tensor<8xf32, #dist.placement<#pp, [8], held = "dp"[0]>>)

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
// expected-error @below {{a value is held by stages of one axis}}
func.func private @axes(tensor<8xf32, #dist.placement<#pp, [8], held = "pp"[0], held = "pp"[1]>>)

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
// expected-error @below {{dim 0 is split over axis "pp" of stages, which hold whole values or nothing}}
func.func private @split(tensor<8xf32, #dist.placement<#pp, [8{"pp"}]>>)

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
// A value that each stage has a part of is held by all of them.
// expected-error @below {{axis "pp" appears twice}}
func.func private @part(tensor<8xf32, #dist.placement<#pp, [8], partial = sum["pp"], held = "pp"[0]>>)

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
func.func @no_move(%x: tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1]>>) {
  // expected-error @below {{input and result are on the same stages}}
  %0 = dist.move %x ["pp"] : tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1]>> -> tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1]>>
  return
}

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
func.func @move_over_space(%x: tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1]>>) {
  // expected-error @below {{move cannot run over these axes: stages hold whole values, which are moved or combined}}
  %0 = dist.move %x ["dp"] : tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1]>> -> tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[2]>>
  return
}

// -----

#pp = #dist.mesh<[stages "pp"=4, "dp"=2]>
func.func @gather_elsewhere(%x: tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1]>>) {
  // expected-error @below {{the result is on stages that do not hold the input: from [8{"dp"}], held = "pp"[1] to [8], held = "pp"[0,1]}}
  %0 = dist.all_gather %x ["dp"] dim 0 : tensor<4xf32, #dist.local<#pp, [8{"dp"}], held = "pp"[1]>> -> tensor<8xf32, #dist.local<#pp, [8], held = "pp"[0,1]>>
  return
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @no_such_stage(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{is with stage 2 of 2}}
  dist.send %x to 2 on "x" : tensor<8xf32, #dist.local<#pp, [8]>>
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @nameless(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{has a channel without a name}}
  %0 = dist.receive from 1 on "" : tensor<8xf32, #dist.local<#pp, [8]>>
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @unplaced(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{moves a value without #dist.local on the module's mesh}}
  %0 = dist.receive from 1 on "x" : tensor<8xf32>
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @odd(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{has steps that are no pairs of a section and a microbatch}}
  dist.repeat "mb" steps [0] {
    %0 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : tensor<8xf32, #dist.local<#pp, [8]>> -> tensor<4xf32, #dist.local<#pp, [8{"mb"}]>>
    dist.accumulate in []
  }
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @beyond(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{has a step of microbatch 2 of 2}}
  dist.repeat "mb" steps [0, 2] {
    %0 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : tensor<8xf32, #dist.local<#pp, [8]>> -> tensor<4xf32, #dist.local<#pp, [8{"mb"}]>>
    dist.accumulate in []
  }
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @twice(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{runs section 0 of microbatch 1 twice}}
  dist.repeat "mb" steps [0, 1, 0, 1] {
    %0 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : tensor<8xf32, #dist.local<#pp, [8]>> -> tensor<4xf32, #dist.local<#pp, [8{"mb"}]>>
    dist.accumulate in []
  }
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @missing(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  dist.repeat "mb" steps [0, 1] {
    // expected-error @below {{is of section 0, which its loop does not run for microbatch 0}}
    %0 = dist.slice %x ["mb"] dim 0 {dist.section = 0 : i64} : tensor<8xf32, #dist.local<#pp, [8]>> -> tensor<4xf32, #dist.local<#pp, [8{"mb"}]>>
    dist.accumulate in []
  }
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @sectionless(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  dist.repeat "mb" steps [0, 0, 0, 1] {
    // expected-error @below {{has no dist.section, but its loop has steps}}
    %0 = dist.slice %x ["mb"] dim 0 : tensor<8xf32, #dist.local<#pp, [8]>> -> tensor<4xf32, #dist.local<#pp, [8{"mb"}]>>
    dist.accumulate in []
  }
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @no_number(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{'dist.section' must be a number}}
  %0 = nn.exp %x {dist.section = "0"} : (tensor<8xf32, #dist.local<#pp, [8]>>) -> tensor<8xf32, #dist.local<#pp, [8]>>
  return
}
}

// -----

#pp = #dist.mesh<[stages "pp"=2, temporal "mb"=2]>
module attributes {dist.mesh = #pp} {
func.func @no_loop(%x: tensor<8xf32, #dist.local<#pp, [8]>>) {
  // expected-error @below {{'dist.actions' must be a dictionary on a loop}}
  %0 = nn.exp %x {dist.actions = {"0" = "F0"}} : (tensor<8xf32, #dist.local<#pp, [8]>>) -> tensor<8xf32, #dist.local<#pp, [8]>>
  return
}
}

// -----

#tp = #dist.mesh<["tp"=2]>
module attributes {dist.mesh = #tp} {
func.func @no_stages(%x: tensor<8xf32, #dist.local<#tp, [8]>>) {
  // expected-error @below {{stands in a module whose mesh has no axis of stages}}
  dist.send %x to 1 on "x" : tensor<8xf32, #dist.local<#tp, [8]>>
  return
}
}

// -----

// expected-error @below {{'dist.schedule_reason' must be a text on a module}}
module attributes {dist.schedule_reason = 1} {
}

// -----

// expected-error @below {{'dist.schedule_searched' must be a mark on a module}}
module attributes {dist.schedule_searched = 1} {
}

// -----

// expected-error @below {{'dist.chunk_rows' must be a list of rows on a module}}
module attributes {dist.chunk_rows = [{stage = 0 : i64}]} {
}

// -----

// expected-error @below {{'dist.schedule' must be the text of a schedule on a module}}
module attributes {dist.schedule = 1} {
}

// -----

func.func @chunks(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'dist.chunks' must be a list of chunks}}
  %0 = nn.exp %x {dist.chunks = 1 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#mesh = #dist.mesh<["dp"=2]>
// expected-error @below {{'dist.place' must be a list of stages on a module whose mesh has some}}
module attributes {dist.mesh = #mesh, dist.place = array<i64: 0, 1>} {
}

// -----

#mesh = #dist.mesh<[stages "pp"=2]>
// expected-error @below {{'dist.place': there is no stage 2 of 2}}
module attributes {dist.mesh = #mesh, dist.place = array<i64: 0, 1, 2>} {
}

// -----

#mesh = #dist.mesh<[stages "pp"=2]>
// expected-error @below {{'dist.place': stage 1 has no chunk}}
module attributes {dist.mesh = #mesh, dist.place = array<i64: 0, 0>} {
}

// -----

// What is brought together stands at the end of a loop.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @other_end(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  // expected-error @below {{body must end in dist.accumulate}}
  %1 = dist.repeat "mb" {
    llvm.unreachable
  } : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
  return
}
}
