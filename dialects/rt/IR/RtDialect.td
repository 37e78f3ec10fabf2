//===- RtDialect.td - dialect, enums and attributes of rt -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_RT_IR_RTDIALECT_TD
#define WEFT_DIALECTS_RT_IR_RTDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/rt/IR/RtEnums.td"
include "weft/Interfaces/ReduceKind.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::weft::rt";
  let summary = "The scheduled program: commands on streams over a planned arena";
  let description = [{
    The phase `scheduled`. A program is, per process, a static list of commands
    over buffers: nothing branches, and everything that the runtime's blob holds
    is readable here. Buffers and views are `memref`s: shape, strides and offset
    of a view stand in its type.

    A second, small family of ops on tensors (`rt.fusion`, `rt.call`,
    `rt.dense`) lives at the end of the phase `local`, where kernels are fused
    and outlined, and is gone from the program's body once commands are made.

    A *routine* is a private function marked `rt.routine` that programs call with `rt.call`, and the list of
    commands made of it: what repeats, microbatches and layers, is there once. It calls no routine itself, and knows
    nothing of who calls it: tables and states come in as arguments. `rt.in_place` on it says
    for each result which argument it overwrites (-1: none): the result is written to that argument's memory, and
    callers do not read the argument's value after the call. A `{}` in the names of its nodes stands for the `label`
    of a call.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Rt_BufferClassAttr : EnumAttr<Rt_Dialect, Rt_BufferClass, "buffer_class">;
def Rt_CollectiveKindAttr : EnumAttr<Rt_Dialect, Rt_CollectiveKind, "collective_kind">;
def Rt_FusionKindAttr : EnumAttr<Rt_Dialect, Rt_FusionKind, "fusion_kind">;
def Rt_ReduceKindAttr : EnumAttr<Rt_Dialect, Weft_ReduceKind, "reduce_kind"> {
  let cppNamespace = "::weft::rt";
}

def Rt_PlacementAttr : AttrDef<Rt_Dialect, "Placement"> {
  let mnemonic = "placement";
  let summary = "where the elements of a global tensor lie, one list of parts a dimension";
  let description = [{
    A dimension is a row-major product of parts, outermost first; a part may be
    split over axes of `rt.mesh`, major to minor, each level by ceiling division.
    A dimension that is whole on every device has one part without axes.

    Example: 96 = 3 * 32 with the second part split: `#rt.placement<[8], [3, 32:"tp"]>`
  }];
  let parameters = (ins ArrayRefParameter<"::weft::rt::PlacementDim">:$dims);
  let hasCustomAssemblyFormat = 1;
}

def Rt_PieceAttr : AttrDef<Rt_Dialect, "Piece"> {
  let mnemonic = "piece";
  let summary = "a source tensor that fills a box of a state";
  let description = [{
    `type` is the source's shape and element type. `data` holds the bytes if they
    are embedded; else they are at `offset` in `file` (relative to the model's
    folder unless absolute). An empty file: there are no bytes yet. `start` is
    the first index of the box, empty for all zero.
  }];
  let parameters = (ins "::mlir::Type":$type, OptionalParameter<"::mlir::StringAttr">:$file,
      DefaultValuedParameter<"int64_t", "0">:$offset, DefaultValuedParameter<"uint64_t", "0">:$hash,
      OptionalParameter<"::mlir::ElementsAttr">:$data, OptionalParameter<"::mlir::DenseI64ArrayAttr">:$start);
  let assemblyFormat = "`<` struct(params) `>`";
}

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

#endif // WEFT_DIALECTS_RT_IR_RTDIALECT_TD
