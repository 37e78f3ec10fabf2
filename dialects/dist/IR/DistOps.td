//===- DistOps.td - transitions between placements -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------===//
#ifndef WEFT_DIALECTS_DIST_IR_DISTOPS_TD
#define WEFT_DIALECTS_DIST_IR_DISTOPS_TD

include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/dist/IR/DistDialect.td"
include "weft/Sharding/TransitionOpInterface.td"

class Dist_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, !listconcat([Pure], traits)>;

def Dist_ReshardOp : Dist_Op<"reshard"> {
  let summary = "the same value under another placement";
  let description = [{
    Lifespan: made by `dist-insert-reshards`, replaced by collectives in
    `dist-partition`. Shape: that of the operand.

    Constraints, in the order the verifier reports them:
    - Shape and element type are equal; both types have a `#dist.placement` on one mesh.

    Example: `%1 = dist.reshard %0 : tensor<8x4xf32, #dist.placement<#mesh, [8, 4], partial = sum["tp"]>>
        -> tensor<8x4xf32, #dist.placement<#mesh, [8{"tp"}, 4]>>`
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

class Dist_TransitionOp<string mnemonic, list<string> overrides = [], list<Trait> traits = []>
    : Dist_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<TransitionOpInterface, overrides>], traits)> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

// Description shared by all transitions.
class Dist_TransitionText<string meaning, string constraints, string example> {
  string value = meaning # [{

    Lifespan: made by `dist-partition` and rewritten by simplifications in `local`; becomes one
    command in `rt`. SPMD: every device of the group runs it, in program order.

    Constraints, in the order the verifier reports them:
    - Element types are equal; both types have a `#dist.local` on one mesh.
    }] # constraints # [{
    - The result's placement is what the transition makes of the operand's, and its padding state holds.

    Example: }] # example;
}

def Dist_AllGatherOp : Dist_TransitionOp<"all_gather"> {
  let summary = "concatenate every device's shard along one dimension";
  let description = Dist_TransitionText<[{
    Each device of the group spanned by `axes` contributes `input` and receives the
    concatenation in mesh order along the part of `dim` that the axes split; what
    was padding vanishes. Shape: that part's local size becomes what it was before `axes` split it.
    NCCL: ncclAllGather.
  }], "- `axes` are the minor-most axes of a part of the operand's `dim`.", [{
    `%1 = dist.all_gather %0 ["tp"] dim 0 : tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>> -> tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes, I64Attr:$dim);
  let assemblyFormat = "$input $axes `dim` $dim attr-dict `:` type($input) `->` type($result)";
}

def Dist_SliceOp : Dist_TransitionOp<"slice"> {
  let summary = "keep this device's shard of a dimension";
  let description = Dist_TransitionText<[{
    Each device keeps the piece of a part of `dim` that is its own along `axes`,
    which become the minor-most axes of the part. No communication. New padding holds the
    neutral element of the result's padding state, else zero. Shape: the part is divided by each axis in turn, rounding up.
  }], "- `axes` are the minor-most axes of a part of the result's `dim`.", [{
    `%1 = dist.slice %0 ["tp"] dim 0 : tensor<8x8xf32, #dist.local<#mesh, [8, 8]>> -> tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes, I64Attr:$dim);
  let assemblyFormat = "$input $axes `dim` $dim attr-dict `:` type($input) `->` type($result)";
}

def Dist_AllReduceOp : Dist_TransitionOp<"all_reduce", ["getAccumulateType"]> {
  let summary = "combine what the devices of a group hold";
  let description = Dist_TransitionText<[{
    The operand is partial on `axes`; every device of the group receives the
    combination by the operand's kind, in type `accumulate`. May be in place. Shape: unchanged.
    NCCL: ncclAllReduce.
  }], "- The operand is partial on each of `axes`.", [{
    `%1 = dist.all_reduce %0 ["tp"] accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>> -> tensor<8xf32, #dist.local<#mesh, [8]>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes, TypeAttr:$accumulate);
  let assemblyFormat = "$input $axes `accumulate` $accumulate attr-dict `:` type($input) `->` type($result)";
}

def Dist_ReduceScatterOp : Dist_TransitionOp<"reduce_scatter", ["getAccumulateType"]> {
  let summary = "combine what the devices of a group hold and keep this device's shard";
  let description = Dist_TransitionText<[{
    `dist.all_reduce` followed by `dist.slice` over the same axes, at half the bytes.
    NCCL: ncclReduceScatter.
  }], [{- The operand is partial on each of `axes`.
    - `axes` are the minor-most axes of a part of the result's `dim`.}], [{
    `%1 = dist.reduce_scatter %0 ["tp"] dim 0 accumulate f32 : tensor<8xf32, #dist.local<#mesh, [8], partial = sum["tp"]>> -> tensor<2xf32, #dist.local<#mesh, [8{"tp"} ]>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes, I64Attr:$dim, TypeAttr:$accumulate);
  let assemblyFormat = "$input $axes `dim` $dim `accumulate` $accumulate attr-dict `:` type($input) `->` type($result)";
}

def Dist_AllToAllOp : Dist_TransitionOp<"all_to_all", ["getTransitionOtherDim"]> {
  let summary = "move a split from one dimension to another";
  let description = Dist_TransitionText<[{
    `dist.all_gather` of `gather_dim` followed by `dist.slice` of `split_dim` over the
    same axes, in one exchange that moves only what changes device. NCCL: grouped ncclSend and ncclRecv.
  }], [{- The dims are distinct.
    - `axes` are the minor-most axes of a part of the operand's `gather_dim` and of the result's `split_dim`.}], [{
    `%1 = dist.all_to_all %0 ["tp"] gather 0 split 1 : tensor<2x8xf32, #dist.local<#mesh, [8{"tp"}, 8]>> -> tensor<8x2xf32, #dist.local<#mesh, [8, 8{"tp"} ]>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes, I64Attr:$gather_dim, I64Attr:$split_dim);
  let assemblyFormat = [{ $input $axes `gather` $gather_dim `split` $split_dim attr-dict
                          `:` type($input) `->` type($result) }];
}

def Dist_MaskOp : Dist_TransitionOp<"mask", [], [DeclareOpInterfaceMethods<DeviceBodyOpInterface>]> {
  let summary = "set the padding of uneven splits to a neutral element";
  let description = Dist_TransitionText<[{
    The result's padding state names the reduction whose neutral element every padding
    element becomes; the others stay. No communication. Shape: unchanged.
  }], "- The result has padding and a padding state.", [{
    `%1 = dist.mask %0 : tensor<2xf32, #dist.local<#mesh, [5{"tp"} ]>> -> tensor<2xf32, #dist.local<#mesh, [5{"tp"} ], padding = sum>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Dist_PartializeOp : Dist_TransitionOp<"partialize", [], [DeclareOpInterfaceMethods<DeviceBodyOpInterface>]> {
  let summary = "let a value that all devices hold join a reduction that is still due";
  let description = Dist_TransitionText<[{
    The device that is first along `axes` keeps the value, the others hold neutral elements of the
    result's partial kind, so that a later reduction counts it once. No communication. Shape: unchanged.
  }], "- The result is partial on each of `axes`, the operand does not use them.", [{
    `%1 = dist.partialize %0 ["tp"] : tensor<f32, #dist.local<#mesh, []>> -> tensor<f32, #dist.local<#mesh, [], partial = sum["tp"]>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes);
  let assemblyFormat = "$input $axes attr-dict `:` type($input) `->` type($result)";
}

def Dist_MoveOp : Dist_TransitionOp<"move"> {
  let summary = "take a value to other stages of a pipeline";
  let description = Dist_TransitionText<[{
    `axes` is the axis of stages. A stage that holds the result but not the operand gets it from the nearest stage that holds it
    (of two, the lower): each device from the device with the same coordinates on all other axes. Stages that the
    result leaves out give it up. Shape: unchanged. NCCL: ncclSend and ncclRecv.
  }], "- Operand and result are held by different stages, and neither is partial over them.", [{
    `%1 = dist.move %0 ["pp"] : tensor<8xf32, #dist.local<#mesh, [8], held = "pp"[0]>> -> tensor<8xf32, #dist.local<#mesh, [8], held = "pp"[1]>>`
  }]>.value;
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes);
  let assemblyFormat = "$input $axes attr-dict `:` type($input) `->` type($result)";
}

/// One end of a move. Never dead, never one with another: the other end waits for it.
class Dist_ChannelOp<string mnemonic> : Op<Dist_Dialect, mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

def Dist_SendOp : Dist_ChannelOp<"send"> {
  let summary = "give a value to another stage of a pipeline";
  let description = [{
    Stands in the program of one stage (`weft.stage` on the module around it). The device with the same coordinates on all
    axes but that of stages gets the value on stage `peer`, by the `dist.receive` of its program on the same `channel`.

    Lifespan: made by `dist-project-stages` of a `dist.move`, becomes `rt.send`. Of all sends and receives, each stage has its
    own in one order that all stages know, which no pass changes: so no two stages can wait for each other.

    Constraints: stage and peer are different coordinates of the mesh's axis of stages; the channel has a name.

    Example: `dist.send %0 to 1 on "h.0/Add" : tensor<8xf32, #dist.local<#mesh, [8]>>`
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$peer, StrAttr:$channel);
  let assemblyFormat = "$input `to` $peer `on` $channel attr-dict `:` type($input)";
}

def Dist_ReceiveOp : Dist_ChannelOp<"receive"> {
  let summary = "get a value from another stage of a pipeline";
  let description = [{
    The other end of a `dist.send`. Becomes `rt.recv`. Constraints as there.

    Example: `%0 = dist.receive from 0 on "h.0/Add" : tensor<8xf32, #dist.local<#mesh, [8]>>`
  }];
  let arguments = (ins I64Attr:$peer, StrAttr:$channel);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`from` $peer `on` $channel attr-dict `:` type($result)";
}

def Dist_LocalizeIndexOp : Dist_Op<"localize_index", [DeclareOpInterfaceMethods<DeviceBodyOpInterface>]> {
  let summary = "turn global positions into positions within this device's shard";
  let description = [{
    The innermost dim of `input` holds index vectors. The result's `local_indices` name the components that become
    positions in the shard of a factor, and its layout; a position on another device
    becomes -1, which `nn.gather` reads as zero and `nn.scatter` drops. Shape: unchanged.
    Lifespan: as the transitions.

    Constraints, in the order the verifier reports them:
    - Types are equal but for `local_indices`, which the operand lacks and the result has.
    - Components are below the innermost size, which is not split.

    Example, for a vocabulary of 100 split over tp:
    `%1 = dist.localize_index %ids : tensor<4x1xi64, #dist.local<#mesh, [4, 1]>>
        -> tensor<4x1xi64, #dist.local<#mesh, [4, 1], local_indices = [0 : 100{"tp"} ]>>`
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Dist_RepeatOp : Op<Dist_Dialect, "repeat", [SingleBlock, NoRegionArguments, RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "run the body once for each microbatch and bring together what it makes";
  let description = [{
    The body runs for i = 0, 1, ... up to the size of the temporal `axis`, in that order; i is the coordinate on `axis` of
    all that happens in it. It reads values from outside, the same ones each time. Values of the
    body have the axis in their placement where they differ between microbatches: their types are those of one
    microbatch. Its terminator `dist.accumulate` names what is brought together.

    In the body:
    - `dist.slice` over `axis` keeps microbatch i: a slice at a computed offset, i times the local extent after the slice
      (of each part that the axis splits), within what this device holds. It may reach beyond the end if the split is
      uneven; what lies there is padding, as for any slice.
    - `dist.mask` and `dist.localize_index` may depend on the coordinate on `axis`, which is i.
    - Collectives over axes in space run in every microbatch. None runs over `axis`.

    Result j is made of operand j of the terminator over all microbatches, as its placement says (`combinationOver`):
    - One that is partial on `axis` is combined by that kind, in type `accumulate[j]`: the first microbatch sets it, the
      others are combined in order.
    - One of which `axis` splits a dim is put in place: microbatch i writes its rows of the result, those that a
      `dist.slice` of the result over `axis` reads. Nothing is combined; `accumulate[j]` is the element type.

    The result's own buffer may be used from the first iteration on; nothing else survives an iteration, so
    all iterations may use the same memory.

    In the program of a stage (`dist-project-stages`) an op of the body says its *section* (`dist.section`), and `steps`, pairs of a
    section and a microbatch, in which order they run: the stage's part of a schedule. Lifespan: made by `dist-form-loops`, the last pass on placements in `local`;
    unrolled by `rt-unroll-microbatches`.

    Constraints, in the order the verifier reports them:
    - `axis` is a temporal axis of the mesh.
    - What the body reads from outside has no `axis` in its placement.
    - No transition in the body reduces or gathers over `axis`.
    - As many results as operands of the terminator; each is what an all_reduce, or an all_gather, over `axis` makes of
      the operand.
    - With `steps`: every op of the body has a section, and each section runs once for every microbatch.

    Example:
    `%g = dist.repeat "mb" { %0 = dist.slice %x ["mb"] dim 0 : ... dist.accumulate %1 in [f32] : ... } : tensor<4xf32, #dist.local<#mesh, [4]>>`
  }];
  let arguments = (ins StrAttr:$axis, OptionalAttr<DenseI64ArrayAttr>:$steps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$axis (`steps` $steps^)? $body attr-dict (`:` type($results)^)?";
  let hasRegionVerifier = 1;
}

def Dist_AccumulateOp : Dist_Op<"accumulate", [Terminator, ReturnLike, HasParent<"RepeatOp">]> {
  let summary = "end a microbatch; name what is brought together of all of them";
  let description = [{
    See `dist.repeat`. Each operand is partial on the axis of the loop, or split over it.

    Constraints: one type of accumulation an operand.

    Example: `dist.accumulate %1, %2 in [f32, f32] : tensor<...>, tensor<...>`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, TypeArrayAttr:$accumulate);
  let assemblyFormat = "($inputs^)? `in` $accumulate attr-dict (`:` type($inputs)^)?";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_DIST_IR_DISTOPS_TD
