//===- RtCommands.td - commands on streams -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_RT_IR_RTCOMMANDS_TD
#define WEFT_DIALECTS_RT_IR_RTCOMMANDS_TD

include "dialects/rt/IR/RtDialect.td"
include "dialects/rt/IR/RtInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Rt_Stream : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<7>]>;

/// A list of operands in C++, by the names of their getters.
class Rt_Operands<list<string> names> {
  string text = "{" # !interleave(!foreach(name, names, "get" # name # "()"), ", ") # "}";
}

/// A command with the operands that it reads and those that it writes. `overwrites`: one that it
/// reads, and one of the same type that it may write there.
class Rt_Command<string mnemonic, list<string> reads, list<string> writes, list<Trait> traits = [],
                 list<string> overwrites = []>
    : Rt_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<Rt_CommandInterface, !listconcat(["getReads", "getWrites"],
          !if(!empty(overwrites), []<string>, ["getOverwrites"]))>], traits)> {
  let extraClassDefinition =
      "::llvm::SmallVector<::mlir::Value> $cppClass::getReads() { return present(" # Rt_Operands<reads>.text # "); }\n"
      # "::llvm::SmallVector<::mlir::Value> $cppClass::getWrites() { return present(" # Rt_Operands<writes>.text # "); }\n"
      # !if(!empty(overwrites), "", "::llvm::SmallVector<std::pair<::mlir::Value, ::mlir::Value>> "
            "$cppClass::getOverwrites() { return pairOf(" # Rt_Operands<overwrites>.text # "); }");
}

def Rt_LaunchOp : Rt_Command<"launch", ["Inputs"], ["Outputs"], [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a generated kernel";
  let description = [{
    The kernel's pointers are the first elements of `reads`, then of `writes`. How
    it is launched (grid or units of work) is its target's and known when it is compiled.
    Example: `rt.launch @gelu reads(%0 : memref<8xf32>) writes(%1 : memref<8xf32>) stream 0`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $kernel `reads` `(` ($inputs^ `:` type($inputs))? `)` `writes` `(` ($outputs^ `:` type($outputs))? `)`
      `stream` $stream attr-dict }];
}

def Rt_GemmOp : Rt_Command<"gemm", ["Lhs", "Rhs", "Addends"], ["Result"], [DeclareOpInterfaceMethods<Rt_CommandInterface, ["getOverwrites"]>]> {
  let summary = "a (batched) matrix product by the target's library";
  let description = [{
    `result[b.., m, n] = sum_k lhs[b.., m, k] rhs[b.., k, n]`, 0 to 4 batch dims; strides of 0 repeat. Addends
    `[b.., m, n]` are added to that behind the sum, one after the other, in the sum's type, when it was rounded to the result's: every
    bit is that of additions of their own. One of them may be the result.

    Constraints: equal tensor ranks of 2 to 6; sizes contract; addends have the result's sizes and element type,
    which is one of floats.
    Example: `rt.gemm %a, %b -> %c accumulate f32 stream 0 : memref<4x8xf32>, memref<8x2xf32> -> memref<4x2xf32>`
  }];
  let arguments = (ins AnyMemRef:$lhs, AnyMemRef:$rhs, AnyMemRef:$result, Variadic<AnyMemRef>:$addends,
      TypeAttr:$accumulate, DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $lhs `,` $rhs `->` $result (`plus` `(` $addends^ `:` type($addends) `)`)? `accumulate` $accumulate
      `stream` $stream attr-dict
      `:` type($lhs) `,` type($rhs) `->` type($result) }];
  let hasVerifier = 1;
}

def Rt_ConvOp : Rt_Command<"conv", ["Input", "Filter"], ["Result"]> {
  let summary = "a convolution by the target's library";
  let description = [{
    Operands input `[n, c, s..]`, filter `[m, c/groups, k..]`, result `[n, m, t..]`. The
    extents of the result are the views'; reads outside the input, and between its elements where it is dilated, are
    zero. Any strides in memory.

    Constraints: tensor rank 3 to 5, lists have one entry a spatial dim; channels fit groups; along a dim either the
    stride or the input's dilation is 1.
    Example: `rt.conv %x, %w -> %y strides [1] pads [0] dilations [1] input_dilations [1] groups 1 stream 0
      : memref<1x2x8xf32>, memref<4x2x3xf32> -> memref<1x4x6xf32>`
  }];
  let arguments = (ins AnyMemRef:$input, AnyMemRef:$filter, AnyMemRef:$result,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$input_dilations, I64Attr:$groups,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $input `,` $filter `->` $result `strides` $strides
      `pads` $pads `dilations` $dilations `input_dilations` $input_dilations `groups` $groups `stream` $stream attr-dict
      `:` type($input) `,` type($filter) `->` type($result) }];
  let hasVerifier = 1;
}

def Rt_AttentionOp : Rt_Command<"attention", ["Query", "Key", "Value", "Mask"], ["Result"]> {
  let summary = "softmax(scale q k^T + mask) v per head, without the score matrix";
  let description = [{
    query `[b, h, s, d]`, key `[b, g, t, d]`, value `[b, g, t, e]`, result `[b, h, s, e]`, mask `[b, h, s, t]`; see
    `nn.attention`. Any strides.

    Constraints: sizes fit as above, h a multiple of g.
  }];
  let arguments = (ins AnyMemRef:$query, AnyMemRef:$key, AnyMemRef:$value, AnyMemRef:$result, Optional<AnyMemRef>:$mask,
      F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap, UnitAttr:$causal,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $query `,` $key `,` $value `->` $result (`mask` `(` $mask^ `:` type($mask) `)`)?
      `scale` $scale `stream` $stream attr-dict
      `:` type($query) `,` type($key) `,` type($value) `->` type($result) }];
  let hasVerifier = 1;
}

def Rt_AttentionGradOp : Rt_Command<"attention_grad", ["Query", "Key", "Value", "Output", "OutputGradient", "Mask"], ["QueryGradient", "KeyGradient", "ValueGradient"]> {
  let summary = "gradients of attention with respect to query, key and value, without the score matrix";
  let description = [{
    The first five are what `nn.attention_grad` reads, in its order; the gradients have the sizes of query, key and
    value. Any strides.

    Constraints: sizes of query, key, value, output and mask as `rt.attention` has them; a gradient has the sizes of
    what it belongs to.
  }];
  let arguments = (ins AnyMemRef:$query, AnyMemRef:$key, AnyMemRef:$value, AnyMemRef:$output, AnyMemRef:$output_gradient,
      AnyMemRef:$query_gradient, AnyMemRef:$key_gradient, AnyMemRef:$value_gradient, Optional<AnyMemRef>:$mask,
      F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap, UnitAttr:$causal,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $query `,` $key `,` $value `,` $output `,` $output_gradient
      `->` $query_gradient `,` $key_gradient `,` $value_gradient (`mask` `(` $mask^ `:` type($mask) `)`)?
      `scale` $scale `stream` $stream attr-dict
      `:` type($query) `,` type($key) `,` type($value) `,` type($output) `,` type($output_gradient)
      `->` type($query_gradient) `,` type($key_gradient) `,` type($value_gradient) }];
  let hasVerifier = 1;
}

def Rt_AttentionWithSumsOp : Rt_Command<"attention_with_sums", ["Query", "Key", "Value"], ["Result", "LogSumExp"]> {
  let summary = "attention that also tells what its gradient makes the probabilities of";
  let description = [{
    `rt.attention` without a mask, and the logarithm of the sum of a row's exp(score) `[b, h, s]`, without gaps.

    Constraints: those of `rt.attention`.
  }];
  let arguments = (ins AnyMemRef:$query, AnyMemRef:$key, AnyMemRef:$value, AnyMemRef:$result, AnyMemRef:$log_sum_exp,
      F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap, UnitAttr:$causal,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $query `,` $key `,` $value `->` $result `,` $log_sum_exp `scale` $scale `stream` $stream attr-dict
      `:` type($query) `,` type($key) `,` type($value) `->` type($result) `,` type($log_sum_exp) }];
  let hasVerifier = 1;
}

def Rt_AttentionWithSumsGradOp : Rt_Command<"attention_with_sums_grad", ["Query", "Key", "Value", "Output", "OutputGradient", "LogSumExp"], ["QueryGradient", "KeyGradient", "ValueGradient"]> {
  let summary = "gradients of attention, from what the forward pass told of its rows";
  let description = [{
    `rt.attention_grad` without a mask; the sixth is what `rt.attention_with_sums` wrote second.

    Constraints: those of `rt.attention_grad` and `rt.attention_with_sums`.
  }];
  let arguments = (ins AnyMemRef:$query, AnyMemRef:$key, AnyMemRef:$value, AnyMemRef:$output, AnyMemRef:$output_gradient,
      AnyMemRef:$log_sum_exp, AnyMemRef:$query_gradient, AnyMemRef:$key_gradient, AnyMemRef:$value_gradient,
      F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap, UnitAttr:$causal,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $query `,` $key `,` $value `,` $output `,` $output_gradient `,` $log_sum_exp
      `->` $query_gradient `,` $key_gradient `,` $value_gradient `scale` $scale `stream` $stream attr-dict
      `:` type($query) `,` type($key) `,` type($value) `,` type($output) `,` type($output_gradient) `,` type($log_sum_exp)
      `->` type($query_gradient) `,` type($key_gradient) `,` type($value_gradient) }];
  let hasVerifier = 1;
}

def Rt_CopyOp : Rt_Command<"copy", ["Source"], ["Target"]> {
  let summary = "copy a view to another of the same sizes and element type";
  let description = [{
    Any strides. Constraints: equal sizes, equal element types.
    Example: `rt.copy %0 -> %1 stream 0 : memref<4x2xf32, strided<[1, 4]>> -> memref<4x2xf32>`
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target, DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = "$source `->` $target `stream` $stream attr-dict `:` type($source) `->` type($target)";
  let hasVerifier = 1;
}

def Rt_ScatterAddOp : Rt_Command<"scatter_add", ["Indices", "Updates", "Operand"], ["Result"], [
    AllElementTypesMatch<["updates", "result"]>,
    PredOpTrait<"updates have the sizes of the indices without the last, which is 1, and of a row of the result",
      CPred<"!sizes(getIndices()).empty() && !sizes(getResult()).empty() && sizes(getIndices()).back() == 1 && "
            "llvm::equal(sizes(getUpdates()), llvm::concat<const int64_t>(sizes(getIndices()).drop_back(), "
                                                                        "sizes(getResult()).drop_front()))">>,
    PredOpTrait<"operand has the sizes and the element type of the result",
      CPred<"!getOperand() || (sizes(getOperand()) == sizes(getResult()) && element(getOperand()) == element(getResult()))">>],
    ["Operand", "Result"]> {
  let summary = "add updates to the rows that indices name, by the target's library";
  let description = [{
    Updates `[i.., w..]` are added, in row-major order of `i..`, to the rows `[w..]` of the operand, or of zeros
    where it lacks, that the indices `[i.., 1]` name; an index outside of the rows is dropped. The operand may be the result.
    Rows of updates and result are contiguous.

    Constraints: sizes as above; one element type; integer indices.
    Example: `rt.scatter_add %ids, %rows -> %table stream 0 : memref<2x4x1xi64>, memref<2x4x8xf32> -> memref<100x8xf32>`
  }];
  let arguments = (ins MemRefOf<[AnyInteger]>:$indices, AnyMemRef:$updates, AnyMemRef:$result, Optional<AnyMemRef>:$operand,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $indices `,` $updates `->` $result (`operand` `(` $operand^ `:` type($operand) `)`)?
      `stream` $stream attr-dict `:` type($indices) `,` type($updates) `->` type($result) }];
}

def Rt_CollectiveOp : Rt_Command<"collective", ["Sources"], ["Targets"], [SameVariadicOperandSize,
    DeclareOpInterfaceMethods<Rt_CommandInterface, ["getOverwrites", "isCommunication"]>]> {
  let summary = "exchange between the processes along some mesh axes";
  let description = [{
    The group is spanned by `axes` (major to minor); every member starts its
    collectives in the same order. `shape` holds outer, extent, inner, middle
    and other extent (the last two are 1 but for all_to_all); the dimension of
    `extent` is split over the group, by ceiling division level by level:
    - all_gather: [outer, shard, inner] -> [outer, extent, inner] (ncclAllGather)
    - all_reduce: [outer, extent, inner] -> the same; source may be target (ncclAllReduce)
    - reduce_scatter: [outer, extent, inner] -> [outer, shard, inner] (ncclReduceScatter)
    - all_to_all: [outer, extent, middle, otherShard, inner] ->
      [outer, shard, middle, otherExtent, inner]; with `gather_first`
      [outer, otherShard, middle, extent, inner] ->
      [outer, otherExtent, middle, shard, inner] (grouped ncclSend, ncclRecv)
    Reductions run over members in order, in `accumulate`. Elements beyond the
    last shard's end become `padding` (bits).

    A bucket moves several tensors in the same messages, each from its source to
    its target, without copies next to each other (ncclGroupStart, one call a
    tensor, ncclGroupEnd): `shape` has five sizes a tensor. No element depends
    on what else is in the bucket.

    Constraints: at least one tensor; all have one element type; an all_to_all has
    one; views are contiguous; source and target hold the elements above.
    Example: `rt.collective all_reduce sum %0 -> %1 axes ["tp"] shape [1, 8, 1, 1, 1] accumulate f32 stream 1
      : memref<8xf32> -> memref<8xf32>`
  }];
  let arguments = (ins Rt_CollectiveKindAttr:$kind, Rt_ReduceKindAttr:$reduction, Variadic<AnyMemRef>:$sources,
      Variadic<AnyMemRef>:$targets, StrArrayAttr:$axes, DenseI64ArrayAttr:$shape, TypeAttr:$accumulate, UnitAttr:$gather_first,
      DefaultValuedAttr<I64Attr, "0">:$padding, DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $kind $reduction $sources `->` $targets `axes` $axes `shape` $shape `accumulate` $accumulate
      `stream` $stream attr-dict `:` type($sources) `->` type($targets) }];
  let hasVerifier = 1;
}

/// A transfer between this stage and one other.
class Rt_TransferOp<string mnemonic, list<string> reads, list<string> writes>
    : Rt_Command<mnemonic, reads, writes, [DeclareOpInterfaceMethods<Rt_CommandInterface, ["isCommunication", "isTransfer"]>]> {
  let arguments = (ins AnyMemRef:$buffer, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer, StrAttr:$channel,
      DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let hasVerifier = 1;
}

def Rt_SendOp : Rt_TransferOp<"send", ["Buffer"], []> {
  let summary = "give a buffer to the process at the same place of another stage";
  let description = [{
    The process with the same coordinates along all axes but the mesh's `stages` runs stage `peer`, and takes the
    bytes by the `rt.recv` from this stage that has the same number in its list, among those: it has the same `channel`
    and as many elements of the same type. The command ends when they are taken (ncclSend).

    Constraints: the mesh has `stages`; `peer` is one of them and not the module's own (`weft.stage`); the channel has a
    name; the view is contiguous; the command stands in no routine.
    Example: `rt.send %0 to 1 on "F1.x" stream 2 : memref<4x8xf32>`
  }];
  let assemblyFormat = "$buffer `to` $peer `on` $channel `stream` $stream attr-dict `:` type($buffer)";
}

def Rt_RecvOp : Rt_TransferOp<"recv", [], ["Buffer"]> {
  let summary = "take what the process at the same place of another stage gives";
  let description = [{
    The other end of an `rt.send` (ncclRecv). Constraints as there.
    Example: `rt.recv -> %0 from 0 on "F1.x" stream 2 : memref<4x8xf32>`
  }];
  let assemblyFormat = "`->` $buffer `from` $peer `on` $channel `stream` $stream attr-dict `:` type($buffer)";
}

def Rt_SliceOp : Rt_Command<"slice", ["Source"], ["Target"]> {
  let summary = "this process's shard of a value that is whole on every member";
  let description = [{
    `shape` is outer, extent, inner: target[o, i, x] = source[o, start + i, x],
    where the shard of `extent` over `axes` starts at `start`; beyond its end
    the target holds `padding` (bits). No communication.
    Example: `rt.slice %0 -> %1 axes ["tp"] shape [2, 8, 1] stream 0 : memref<2x8xf32> -> memref<2x4xf32>`
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target, StrArrayAttr:$axes, DenseI64ArrayAttr:$shape,
      DefaultValuedAttr<I64Attr, "0">:$padding, DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $source `->` $target `axes` $axes `shape` $shape `stream` $stream attr-dict
      `:` type($source) `->` type($target) }];
  let hasVerifier = 1;
}

def Rt_InvokeOp : Rt_Command<"invoke", ["Inputs"], ["Outputs", "Scratch"], [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<Rt_CommandInterface, ["isCommunication"]>]> {
  let summary = "run a routine's commands on blocks of memory";
  let description = [{
    The routine's blocks start at the first elements of the views: `reads` are its arguments, `writes` its results. A
    result that overwrites an argument is the same view in both. `scratch` is memory of the caller for the routine's
    buffers; between and beside these it may hold what is not the routine's. Blocks and buffers may share bytes that
    the routine uses for one after the other.

    If `communicates`, all commands of the routine talk to other processes, and run on the stream of this one. Else this
    is a command of stream 0: what the routine does on other streams starts after what stream 0 did before, and
    ends before stream 0 goes on.

    `unset` are numbers of inputs that were never written: sums to which nothing was added yet. The routine, which does
    no more with such a block than to add it to a product and put the result there, puts the product there.

    `label` and `microbatch` are for people, see `rt.call`.

    Constraints: views are contiguous, and of the types of the blocks; `scratch` is there if the routine's arena has
    bytes, and is as large; the routine overwrites inputs that are unset.
    Example: `rt.invoke @block reads(%x, %w : memref<8xf32>, memref<8xf32>) writes(%y : memref<8xf32>)
      scratch(%s : memref<256xi8>) stream 0 {label = "h.5", microbatch = 2 : i64}`
  }];
  let arguments = (ins FlatSymbolRefAttr:$routine, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs,
      Optional<AnyMemRef>:$scratch, UnitAttr:$communicates, OptionalAttr<DenseI64ArrayAttr>:$unset,
      OptionalAttr<StrAttr>:$label, OptionalAttr<I64Attr>:$microbatch, DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = [{ $routine `reads` `(` ($inputs^ `:` type($inputs))? `)` `writes` `(` ($outputs^ `:` type($outputs))? `)`
      (`scratch` `(` $scratch^ `:` type($scratch) `)`)? (`communicates` $communicates^)? (`unset` $unset^)? `stream` $stream
      attr-dict }];
  let extraClassDeclaration = [{
    /// Whether the input of that number is a sum to which nothing was added yet.
    bool isUnset(int64_t input) { return ::llvm::is_contained(getUnset().value_or(::llvm::ArrayRef<int64_t>()), input); }
  }];
}

class Rt_EventOp<string mnemonic> : Rt_Command<mnemonic, [], []> {
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$event, DefaultValuedAttr<Rt_Stream, "0">:$stream);
  let assemblyFormat = "$event `stream` $stream attr-dict";
}

def Rt_RecordOp : Rt_EventOp<"record"> {
  let summary = "mark the point that a stream has reached";
  let description = [{ Example: `rt.record 3 stream 1` }];
}

def Rt_WaitOp : Rt_EventOp<"wait"> {
  let summary = "hold a stream until the latest record of an event before this in program order";
  let description = [{ Example: `rt.wait 3 stream 0` }];
}

#endif // WEFT_DIALECTS_RT_IR_RTCOMMANDS_TD
