//===- NnLayout.td - ops that make or move values -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNLAYOUT_TD
#define WEFT_DIALECTS_NN_IR_NNLAYOUT_TD

include "dialects/nn/IR/NnDialect.td"

def Nn_ConstantOp : Nn_Op<"constant",
    [ConstantLike],
    shardMethods = ["localizeAttributes", "getFlopsPerPoint"], gradientMethods = []> {
  let summary = "a tensor known at compile time";
  let description = [{
    For small values: weights are state. A splat may be split along any dim;
    other constants are whole on every device.

    Constraints: the value is dense (no resource of unknown bytes), with the
    result's element type and shape.

    Example: `%0 = nn.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>`
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "attr-dict $value `:` type($result)";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let hasVerifier = 1;
}

def Nn_IotaOp : Nn_Op<"iota", shardMethods = ["getFlopsPerPoint"], gradientMethods = []> {
  let summary = "0, 1, 2, ... along the only dim";
  let description = [{ Shape: one dim. Example: `%0 = nn.iota : tensor<8xi64>` }];
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Nn_BroadcastOp : Nn_Op<"broadcast",
    shardMethods = ["getPartialRules", "getFlopsPerPoint"],
    kernelMethods = ["getView", "getParallelDims"]> {
  let summary = "repeat the operand along new dims";
  let description = [{
    Operand dim `i` becomes result dim `dims[i]`; the result's other dims repeat.
    Shape: `result[dims[i]] = operand[i]`.

    Constraints: one entry of `dims` an operand dim, strictly increasing, in
    [0, result's tensor rank); equal element types; the shape rule.

    Example: `%1 = nn.broadcast %0 dims = [1] : tensor<4xf32> -> tensor<2x4xf32>`
  }];
  let arguments = (ins Nn_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Nn_ReshapeOp : Nn_Op<"reshape",
    shardMethods = ["getPartialRules", "getFlopsPerPoint"],
    kernelMethods = ["getView", "getParallelDims"]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Constraints: equal element types and numbers of elements.

    Example: `%1 = nn.reshape %0 : tensor<2x3x8xf32> -> tensor<2x24xf32>`
  }];
  let arguments = (ins Nn_Tensor:$operand);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Nn_TransposeOp : Nn_Op<"transpose",
    shardMethods = ["getPartialRules", "getFlopsPerPoint"],
    kernelMethods = ["getView", "getParallelDims"]> {
  let summary = "result dim i is operand dim permutation[i]";
  let description = [{
    Shape: `result[i] = operand[permutation[i]]`.

    Constraints: `permutation` names every operand dim once; equal element types; the
    shape rule.

    Example: `%1 = nn.transpose %0 permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>`
  }];
  let arguments = (ins Nn_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$operand `permutation` `=` $permutation attr-dict `:` type($operand) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$permutation)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Nn_ReverseOp : Nn_Op<"reverse", shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = "the order of elements turned round along some dims";
  let description = [{
    Constraints: `dims` are distinct dims of the operand; the result has its element
    type and shape.

    Example: `%1 = nn.reverse %0 dims = [0] : tensor<2x3xf32> -> tensor<2x3xf32>`
  }];
  let arguments = (ins Nn_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Nn_SliceOp : Nn_Op<"slice",
    shardMethods = ["getPartialRules", "localizeAttributes", "getFlopsPerPoint"],
    kernelMethods = ["getView", "getParallelDims"]> {
  let summary = "a strided box of the operand";
  let description = [{
    `result[i] = operand[starts + i * strides]` in every dim; sizes are the result's.

    Constraints: one start and one stride a dim; starts not negative, strides
    positive; equal element types and tensor ranks; the last index read,
    `starts + (result - 1) * strides`, is less than the operand's size.

    Example: `%1 = nn.slice %0 starts = [0, 4] strides = [1, 1] : tensor<2x12xf32> -> tensor<2x4xf32>`
  }];
  let arguments = (ins Nn_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$strides);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = [{ $operand `starts` `=` $starts `strides` `=` $strides attr-dict
                          `:` type($operand) `->` type($result) }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Nn_ConcatOp : Nn_Op<"concat", shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = "operands one after the other along a dim";
  let description = [{
    Shape: `result[dim]` is the sum of the inputs' sizes; all other dims are equal.

    Constraints: at least one input; `dim` in [0, tensor rank); equal element types;
    the shape rule.

    Example: `%2 = nn.concat %0, %1 dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>`
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$dim)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Nn_PadOp : Nn_Op<"pad",
    shardMethods = ["getPartialRules", "localizeAttributes", "getFlopsPerPoint"]> {
  let summary = "the operand with a constant around it";
  let description = [{
    `low` and `high` count elements added before and after in every dim; cut with
    `nn.slice`. Shape: `result = low + operand + high`.

    Constraints: one entry a dim, not negative; `value` and result have the operand's
    element type; the shape rule.

    Example: `%1 = nn.pad %0 low = [0, 1] high = [0, 1] value = 0.0 : f32 : tensor<2x3xf32> -> tensor<2x5xf32>`
  }];
  let arguments = (ins Nn_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, TypedAttrInterface:$value);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = [{ $operand `low` `=` $low `high` `=` $high `value` `=` $value attr-dict
                          `:` type($operand) `->` type($result) }];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_NN_IR_NNLAYOUT_TD
