//===- RtTensorOps.td - fusions and calls on tensors -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_RT_IR_RTTENSOROPS_TD
#define WEFT_DIALECTS_RT_IR_RTTENSOROPS_TD

include "dialects/rt/IR/RtDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "weft/Interfaces/OpInterfaces.td"

def Rt_FusionOp : Rt_Op<"fusion", [Pure, IsolatedFromAbove, SingleBlock,
    SingleBlockImplicitTerminator<"::weft::rt::YieldOp">]> {
  let summary = "ops that run as one command";
  let description = [{
    The body holds `nn` ops on local types without placement; its arguments are
    the inputs in order. A `kernel` fusion becomes a generated kernel; a
    `library` fusion holds one op with a library call, before it the constants that the
    call implies, and behind it the view op that re-indexes its result, if there is one
    (the library writes the permuted order), and the op that adds an input to that, if
    the library's call does it.

    Lifespan: made by `rt-fuse-kernels`; `kernel` fusions are removed by
    `rt-outline-kernels`, the others by `rt-lower-to-commands`.

    Constraints: argument types equal the inputs' without encoding; yielded
    types equal the results' without encoding.

    Example:
    `%1 = rt.fusion kernel(%x : tensor<8xf32>) -> (tensor<8xf32>) {
     ^bb0(%a: tensor<8xf32>):
       %2 = nn.exp %a : (tensor<8xf32>) -> tensor<8xf32>
       rt.yield %2 : tensor<8xf32>
     }`
  }];
  let arguments = (ins Rt_FusionKindAttr:$kind, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $kind `(` ($inputs^ `:` type($inputs))? `)` `->` `(` type($outputs) `)`
      attr-dict-with-keyword $body }];
  let hasVerifier = 1;
}

def Rt_BucketOp : Rt_Op<"bucket", [Pure, IsolatedFromAbove, SingleBlock,
    SingleBlockImplicitTerminator<"::weft::rt::YieldOp">]> {
  let summary = "collectives that travel together";
  let description = [{
    The body holds one transition between placements (TransitionOpInterface) for each input, in
    order, and yields their results. All are of one kind over the same axes, on one
    element type, and reduce alike. Becomes one `rt.collective`: the tensors keep places
    of their own and share messages.

    Lifespan: made by `rt-form-buckets`, removed by `rt-lower-to-commands`.

    Constraints: at least two inputs; transition i reads argument i only; results are the
    transitions'; transitions agree as above and are no all_to_all.

    Example:
    `%2:2 = rt.bucket(%0, %1 : !pa, !pb) -> (!a, !b) {
     ^bb0(%p: !pa, %q: !pb):
       %3 = dist.all_reduce %p ["dp"] accumulate f32 : !pa -> !a
       %4 = dist.all_reduce %q ["dp"] accumulate f32 : !pb -> !b
       rt.yield %3, %4 : !a, !b
     }`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `(` $inputs `:` type($inputs) `)` `->` `(` type($outputs) `)` attr-dict-with-keyword $body }];
  let hasVerifier = 1;
}

def Rt_YieldOp : Rt_Op<"yield", [Pure, Terminator, ParentOneOf<["FusionOp", "BodyOp", "BucketOp"]>, ReturnLike]> {
  let summary = "results of a fusion";
  let description = [{ Example: `rt.yield %2 : tensor<8xf32>` }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def Rt_CallOp : Rt_Op<"call", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run an outlined kernel or a routine on tensors";
  let description = [{
    The callee is a private `func.func` in the same module. A kernel's types are those
    of the operands and results without encoding; those of a routine (marked `rt.routine`) are the same with it.
    Once a routine is commands, the callee is its `rt.program`, and its types are those of that program's function.

    Of a routine's call `label` says what `{}` in the names of its nodes stands for, and `microbatch` for which
    one it runs; both are for people.

    Lifespan: made by `rt-outline-kernels`, removed by `rt-lower-to-commands`.
    Example: `%1 = rt.call @gelu(%0) : (tensor<8xf32>) -> tensor<8xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyRankedTensor>:$inputs, OptionalAttr<StrAttr>:$label,
      OptionalAttr<I64Attr>:$microbatch);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::llvm::StringRef":$callee, "::mlir::ValueRange":$inputs), [{
    build($_builder, $_state, outputs, callee, inputs, ::mlir::StringAttr(), ::mlir::IntegerAttr());
  }]>];
}

def Rt_NothingOp : Rt_Op<"nothing"> {
  let summary = "a sum to which nothing was added yet";
  let description = [{
    Negative zeros, to which adding a value gives it in every bit, that no command writes. Only calls of routines
    read it, as an argument that the routine adds to a product and does not read otherwise: for such a call the
    product is the sum. It allocates, so that no two of it are one.

    Lifespan: made by `rt-elide-sum-starts`, removed by `rt-lower-to-commands`.
    Example: `%1 = rt.nothing : tensor<4x8xf32>`
  }];
  let results = (outs Res<AnyRankedTensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Rt_DenseOp : Rt_Op<"dense", [Pure, AllTypesMatch<["operand", "result"]>]> {
  let summary = "a row-major copy of a view";
  let description = [{
    Stands where a value that is a strided view must be contiguous. Becomes a
    copy command. Example: `%1 = rt.dense %0 : tensor<4x8xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Rt_PutOp : Rt_Op<"put", [Pure]> {
  let summary = "put rows of a tensor in place";
  let description = [{
    The result is [outer, extent, inner] elements in row-major order, whatever its shape. Of `extent` those from `start` on
    are `rows`, which is [outer, n, inner]; the others are as in `into`, or, without it, not told: who reads the result has
    put all of them in place, one after the other. Becomes a copy into a part of the result's buffer, which is that of
    `into`; or nothing, where the call that makes `rows` writes them there (`rt.placed`, `rt-reuse-operands`).

    Constraints, in the order the verifier reports them:
    - `rows` has three dims and the element type of the result, which has the type of `into`.
    - `outer * inner` divides the result's elements; `start + n` is at most the quotient.

    Lifespan: made by `rt-unroll-microbatches` and `rt-form-routines` of what a loop gathers, removed by
    `rt-lower-to-commands`.
    Example: `%1 = rt.put %rows at 2 into %0 : (tensor<1x2x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$rows, Optional<AnyRankedTensor>:$into, I64Attr:$start);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$rows `at` $start (`into` $into^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Rt_CoordinateOp : Rt_Op<"coordinate", [Pure]> {
  let summary = "this process's coordinate along a mesh axis";
  let description = [{
    One element. Becomes a small state, split over the axis, so that nothing in a
    kernel or a command list depends on the process but the data it is given.
    Lifespan: as `rt.body`. Example: `%0 = rt.coordinate "tp" : tensor<1xi64>`
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs 1DTensorOf<[I64]>:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Rt_BodyOp : Rt_Op<"body", [Pure, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<KernelOpInterface, ["buildBody", "getParallelDims"]>]> {
  let summary = "code of an op that depends on where the process stands";
  let description = [{
    The region holds the body that the op's DeviceBodyOpInterface emits (`linalg` on
    tensors of signless elements) and ends in `rt.yield`; inputs are the op's operand and coordinates.
    Lifespan: made by `rt-materialize-device-bodies`, taken into a kernel by `rt-fuse-kernels`.
    Constraint: as many block arguments as inputs, of the same shapes.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `(` $inputs `:` type($inputs) `)` `->` type($result) attr-dict-with-keyword $body }];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_RT_IR_RTTENSOROPS_TD
