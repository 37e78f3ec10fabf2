//===- DistDialect.td - dialect and attributes of dist -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_DIST_IR_DISTDIALECT_TD
#define WEFT_DIALECTS_DIST_IR_DISTDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::weft::dist";
  let summary = "Placements of values on a mesh, and the transitions between them";
  let description = [{
    The phases `sharded` and `local`. A module has one mesh, its attribute
    `dist.mesh`. `dist.recorded` on it holds the placements that values were given, by name. `dist.devices` on it holds the placements that a model file itself asks
    for, per name, until `dist-place` reads them. While placements are being found they are attributes: `dist.placement` on
    arguments and results of a function, `dist.placements` (one entry a result)
    and optionally `dist.operands` (how the op reads its operands) on ops, all of
    `#dist.placement`. `dist.used` on an argument is the placement in which the program reads it, where that differs
    from the one in which it is stored. `dist.order` on a function says whether the other programs follow its
    placements of state (`lead`) or it those of another (`follow`).
    `dist.batch_axes` on the module lists the axes that split the batch: weights stay whole over them.
    `dist.searched` on a function lists the axes on which sums end where placements say; on others they may end later.
    `dist.step_part` on a transition or reshard (`forward`, `backward`, `microbatch`) keeps it apart from others; on an op that makes
    a gradient, `microbatch` asks to reduce it over devices in every microbatch. `dist.closed` on an op, argument or result marks a placement that a
    person gave and no pass may change. `dist.reason` on a reshard and on the transitions that it becomes is a `#dist.reason`;
    `dist.reasons` on a command of `rt` lists those of the tensors that it moves. Where stages of a pipeline have several chunks of
    the model, `dist.place` on the module lists the stage of each chunk, and `dist.chunks` on an op the chunks that it is of. At the end of `sharded` placements move
    into the types: a tensor of global shape with encoding `#dist.placement`. In
    `local` the shape is the device's and the encoding `#dist.local`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

class Dist_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Dist_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "named axes with sizes";
  let description = [{
    Process rank = row-major index in written order, the last axis fastest. `dp=4x2`
    on a command line becomes the axes "dp.0" (outer) and "dp.1". A `temporal` axis counts
    microbatches: it is no part of the process rank, and comes last. An axis of `stages` counts the stages of a pipeline: no value
    is split over it, and a mesh has at most one.

    Example: `#dist.mesh<["dp"=2, "tp"=4]>`, `#dist.mesh<[stages "pp"=4, "dp"=2, temporal "mb"=8]>`
  }];
  let parameters = (ins AttrParameter<"::weft::Mesh", "axes", "const ::weft::Mesh &">:$value);
  let hasCustomAssemblyFormat = 1;
}

class Dist_PlacementBase<string name, string attrMnemonic>
    : Dist_Attr<name, attrMnemonic, [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let parameters = (ins AttrParameter<"MeshAttr", "the mesh">:$mesh,
      AttrParameter<"::weft::Placement", "canonical placement", "const ::weft::Placement &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_PlacementAttr : Dist_PlacementBase<"Placement", "placement"> {
  let summary = "where the elements of a global tensor lie";
  let description = [{
    A dim is a product of parts, major to minor, each with its size and the axes
    that split it (major to minor; see weft::Placement for uneven sizes). On
    axes that do not appear the value is replicated. `held` names the coordinates on the axis of stages
    whose devices have the value; the others have nothing of it. As a tensor's encoding the
    parts multiply to the tensor's shape.

    Constraints: axes are on the mesh, none appears twice; no dim is split over stages; partial axes are of one kind; held stages exist.

    Example, the fused query/key/value weight of GPT-2, split on heads, a
    value that awaits a sum, and an embedding that the first and the last stage read:
    `#dist.placement<#mesh, [768, 3*768{"tp"} ]>`,
    `#dist.placement<#mesh, [8{"dp"}, 768], partial = sum["tp"]>`,
    `#dist.placement<#mesh, [50257{"tp"}, 768], held = "pp"[0,3]>`
  }];
}

def Dist_LocalAttr : Dist_PlacementBase<"Local", "local"> {
  let summary = "the placement of which a local tensor is a shard";
  let description = [{
    As an encoding, the tensor's shape is the placement's local shape. `padding`
    says what the padding of uneven splits holds (the neutral element of a reduction); without it,
    anything. `local_indices` says which components of an index tensor are positions in a
    shard, and of what.

    Example: `tensor<4x768xf32, #dist.local<#mesh, [8{"dp"}, 768]>>`
  }];
}

def Dist_ReasonAttr : Dist_Attr<"Reason", "reason"> {
  let summary = "why a value is brought to another placement";
  let description = [{
    `maker` is the node that computes the value, or the argument that holds it, as `from` says. `reader_count` nodes,
    outputs and states need it as `to` says; `readers` names the first of them in program order. If the value awaits a
    reduction, `summed` has the extents over which the maker reduces and the axes that split them. `role` is
    what the movement belongs to: `forward`, `gradient` and `optimizer` as the maker, or `state` if a state is
    brought from where it is stored.

    Example: `#dist.reason<maker = "/mlp/c_proj/Gemm", readers = ["/ln_2/Add"], reader_count = 2, role = "forward",
        from = <#mesh, [4, 8], partial = sum["tp"]>, to = <#mesh, [4, 8]>, summed = <#mesh, [32{"tp"} ]>>`
  }];
  let parameters = (ins "::mlir::StringAttr":$maker, "::mlir::ArrayAttr":$readers, "int64_t":$reader_count,
      "::mlir::StringAttr":$role, "::weft::dist::PlacementAttr":$from, "::weft::dist::PlacementAttr":$to,
      OptionalParameter<"::weft::dist::PlacementAttr">:$summed);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // WEFT_DIALECTS_DIST_IR_DISTDIALECT_TD
