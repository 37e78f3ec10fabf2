//===- RtOps.td - programs, memory and tables -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_RT_IR_RTOPS_TD
#define WEFT_DIALECTS_RT_IR_RTOPS_TD

include "dialects/rt/IR/RtCommands.td"
include "dialects/rt/IR/RtTensorOps.td"

def Rt_MeshOp : Rt_Op<"mesh", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "the axes of the process mesh, last fastest";
  let description = [{
    Process rank = row-major index over the axes. At most one in a module; a
    module without one runs on one device. Processes that differ along `stages` run the programs of different
    stages of a pipeline; a process's stage is its row-major index over them.
    Constraints: names are distinct, sizes positive, as many of each; `stages` are distinct ones of `axes`.
    Example: `rt.mesh ["pp", "dp"] sizes [2, 2] stages ["pp"]`
  }];
  let arguments = (ins StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes, OptionalAttr<StrArrayAttr>:$stages);
  let assemblyFormat = "$axes `sizes` $sizes (`stages` $stages^)? attr-dict";
  let hasVerifier = 1;
}

def Rt_StateOp : Rt_Op<"state", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "named values that outlive a run";
  let description = [{
    `global` is the logical tensor's type, `local` the buffer on each process, at
    `offset` bytes in the arena once planned. Filled at load from `pieces`;
    elements that no piece covers are zero. `kind` says as what it counts: a
    parameter or an optimizer's state, which checkpoints hold, or workspace, for
    constants of the executable.
    Example: `rt.state @w class optimizer global tensor<8x4xf32> local memref<4x4xf32> placement <[8:"tp"], [4]>
      pieces [#rt.piece<type = tensor<8x4xf32>, file = "m.bin">]`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$global, TypeAttrOf<AnyMemRef>:$local,
      Rt_PlacementAttr:$placement, ArrayAttr:$pieces, OptionalAttr<I64Attr>:$offset,
      DefaultValuedAttr<Rt_BufferClassAttr, "::weft::rt::BufferClass::Parameter">:$kind);
  let assemblyFormat = [{ $sym_name (`class` $kind^)? `global` $global `local` $local `placement` $placement `pieces` $pieces
      (`offset` $offset^)? attr-dict }];
  let hasVerifier = 1;
}

def Rt_ProgramOp : Rt_Op<"program", [Symbol, HasParent<"::mlir::ModuleOp">, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "a named list of commands";
  let description = [{
    Buffers, views and tables come where they are first needed; commands run per
    stream in the order listed. `arena` is the number of bytes each process
    needs, set by `rt-plan-arena`.

    With `routine` it is one that programs invoke. Its block arguments are blocks of memory whose place the caller says: the
    arguments, then the results that overwrite none; `routine` names for each result the argument whose block it
    overwrites, or -1. `arena` is then the size of its scratch, and offsets are relative to it.

    Constraints: block arguments are static memrefs without layout, and only a routine has them; a routine has no
    ports, states, calls or transfers; what `routine` names are distinct arguments.

    Example:
    `rt.program @forward streams 1 events 0 {
       %0 = rt.buffer "x" input offset 0 : memref<8xf32>
       rt.input "x" %0 global tensor<8xf32> placement <[8]> : memref<8xf32>
     }`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<DenseI64ArrayAttr>:$routine, I32Attr:$streams,
      I32Attr:$events, OptionalAttr<I64Attr>:$arena);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $sym_name (`routine` $routine^)? `streams` $streams `events` $events (`arena` $arena^)?
      attr-dict-with-keyword $body }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::DenseI64ArrayAttr":$routine), [{
    build($_builder, $_state, name, routine, 1, 0, ::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = [{
    bool isRoutine() { return getRoutine().has_value(); }
    /// Blocks of a routine's arguments, and of its results: that of the argument it overwrites, or its own.
    ::mlir::ValueRange getArgumentBlocks();
    ::llvm::SmallVector<::mlir::Value> getResultBlocks();
  }];
  let hasVerifier = 1;
}

def Rt_BufferOp : Rt_Op<"buffer", [HasParent<"ProgramOp">]> {
  let summary = "a named range of the arena";
  let description = [{
    `name` is for people. `offset` (bytes, a multiple of 64) and the lifetime
    `lives` - positions of the first and last command of the program between
    which the bytes belong to this buffer, where a call counts as all commands
    of its routine - are set by `rt-plan-arena`. Buffers of inputs and outputs
    live for the whole program.
    Constraints: identity layout; offset a multiple of 64.
  }];
  let arguments = (ins StrAttr:$name, Rt_BufferClassAttr:$kind, OptionalAttr<I64Attr>:$offset,
      OptionalAttr<DenseI64ArrayAttr>:$lives);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$name $kind (`offset` $offset^)? (`lives` $lives^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Rt_StateBufferOp : Rt_Op<"state_buffer", [Pure, HasParent<"ProgramOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the buffer of a state";
  let description = [{ Example: `%0 = rt.state_buffer @w : memref<4x4xf32>` }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Rt_ViewOp : Rt_Op<"view", [Pure]> {
  let summary = "a strided window of a buffer";
  let description = [{
    The result's type tells sizes, strides and offset, in elements, relative to
    the buffer. Constraints: same element type; every element lies in the buffer.
    Example: `%1 = rt.view %0 : memref<4x8xf32> to memref<4x2xf32, strided<[8, 1], offset: 2>>`
  }];
  let arguments = (ins AnyMemRef:$buffer);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `to` type($result)";
  let hasVerifier = 1;
}

class Rt_PortOp<string mnemonic> : Rt_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let arguments = (ins StrAttr:$name, AnyMemRef:$buffer, TypeAttrOf<AnyRankedTensor>:$global, Rt_PlacementAttr:$placement);
  let assemblyFormat = "$name $buffer `global` $global `placement` $placement attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Rt_InputOp : Rt_PortOp<"input"> {
  let summary = "an input of the program: who feeds the buffer, and how it is split";
  let description = [{ Constraints: the placement's parts multiply to the global sizes; local sizes follow. }];
}

def Rt_OutputOp : Rt_PortOp<"output"> {
  let summary = "an output of the program";
  let description = [{ Constraints as `rt.input`. }];
}

#endif // WEFT_DIALECTS_RT_IR_RTOPS_TD
