//===- NnReduce.td - reductions, windows, scans and orders -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNREDUCE_TD
#define WEFT_DIALECTS_NN_IR_NNREDUCE_TD

include "dialects/nn/IR/NnDialect.td"

def Nn_ReduceOp : Nn_Op<"reduce", shardMethods = ["getPartialRules"]> {
  let summary = "combine all elements along some dims, which vanish";
  let description = [{
    An empty reduction gives the neutral element. Floats of less than 32 bits are
    accumulated in f32. Shape: the operand's without `dims`.

    Constraints: `dims` strictly increasing, in [0, tensor rank); `and` and `or` of
    integers, `sum` and `prod` not of bool; equal element types; the shape rule.

    Example: `%1 = nn.reduce sum %0 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>`
  }];
  let arguments = (ins Nn_ReduceKindAttr:$kind, Nn_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$kind $operand `dims` `=` $dims attr-dict `:` type($operand) `->` type($result)";
  let builders = [OpBuilder<(ins "::weft::ReduceKind":$kind, "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$dims)>];
  let hasVerifier = 1;
}

def Nn_ArgReduceOp : Nn_Op<"arg_reduce"> {
  let summary = "index of the greatest (max) or least (min) element along a dim, which vanishes";
  let description = [{
    Ties: the first, or the last with `select_last`. A NaN wins. Shape: the operand's
    without `dim`.

    Constraints: `dim` in [0, tensor rank), of at least one element; kind max or min;
    the result is i64; the shape rule.

    Example: `%1 = nn.arg_reduce max %0 dim = 1 : tensor<4x8xf32> -> tensor<4xi64>`
  }];
  let arguments = (ins Nn_ReduceKindAttr:$kind, Nn_Tensor:$operand, I64Attr:$dim, UnitAttr:$select_last);
  let results = (outs Nn_IntegerTensor:$result);
  let assemblyFormat = "$kind $operand `dim` `=` $dim attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Nn_ReduceWindowOp : Nn_Op<"reduce_window", shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = "combine the elements of a sliding window over the trailing dims";
  let description = [{
    All lists have one entry a windowed dim; windowed dims are the last ones, leading
    dims are independent. `out = (in + low + high - ((window-1)*dilation+1)) / stride + 1`.
    Padding holds the neutral element. Kinds: sum, prod, max, min.

    Constraints: kind, not sum or prod of bool; equal element types; no more windowed
    dims than dims; list lengths; strides, dilations and window positive, pads not
    negative; the window fits into the padded operand; the shape rule.

    Example:
    `%1 = nn.reduce_window max %0 {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>,
        pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x4xf32>`
  }];
  let arguments = (ins Nn_ReduceKindAttr:$kind, Nn_Tensor:$operand, DenseI64ArrayAttr:$window,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
      DenseI64ArrayAttr:$dilations);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Nn_ArgWindowOp : Nn_Op<"arg_window", shardMethods = ["getFlopsPerPoint"]> {
  let summary = "flat index of the greatest element of each sliding window";
  let description = [{
    Geometry as `nn.reduce_window`. The index counts over the unpadded windowed dims
    of one slice in row-major order, or column-major with `column_major`. Ties: the
    first. A window that is all padding gives 0. A NaN wins.

    Constraints: the result is i64; those of `nn.reduce_window` on geometry.

    Example:
    `%1 = nn.arg_window %0 {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>,
        pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x4xi64>`
  }];
  let arguments = (ins Nn_Tensor:$operand, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high, DenseI64ArrayAttr:$dilations,
      UnitAttr:$column_major);
  let results = (outs Nn_IntegerTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Nn_ScanOp : Nn_Op<"scan", shardMethods = ["getPartialRules"]> {
  let summary = "running reduction along a dim";
  let description = [{
    `exclusive`: element i combines those before it only (the first is neutral).
    `reverse`: from the end. Kinds: sum, prod, max, min.

    Constraints: kind; `dim` in [0, tensor rank); no sum or prod of bool; the result
    has the operand's element type and shape.

    Example: `%1 = nn.scan sum %0 dim = 1 {exclusive} : tensor<4x8xf32> -> tensor<4x8xf32>`
  }];
  let arguments = (ins Nn_ReduceKindAttr:$kind, Nn_Tensor:$operand, I64Attr:$dim, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$kind $operand `dim` `=` $dim attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Nn_TopKOp : Nn_Op<"top_k", shardMethods = ["getFlopsPerPoint"]> {
  let summary = "the k greatest (or least) elements along a dim, in order, and their indices";
  let description = [{
    k is the results' size of `dim`; all other sizes are the operand's. Ties: the lower
    index first. NaN counts as greater than all else.

    Constraints: `dim` in [0, tensor rank); values have the operand's element type,
    indices are i64; the shape rule for both; k is at most the operand's size.

    Example: `%1:2 = nn.top_k %0 dim = 1 : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)`
  }];
  let arguments = (ins Nn_Tensor:$operand, I64Attr:$dim, UnitAttr:$smallest);
  let results = (outs Nn_Tensor:$values, Nn_IntegerTensor:$indices);
  let assemblyFormat = "$operand `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_NN_IR_NNREDUCE_TD
