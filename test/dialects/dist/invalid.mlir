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

// What is added up is partial on the axis.
#mesh = #dist.mesh<["dp"=2, temporal "mb"=4]>
module attributes {dist.mesh = #mesh} {
func.func @not_partial(%x: tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>) {
  // expected-error @below {{result 0: the input is not partial on axis "mb"}}
  %1 = dist.repeat "mb" {
    dist.accumulate %x in [f32] : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
  } : tensor<8xf32, #dist.local<#mesh, [16{"dp"}]>>
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
