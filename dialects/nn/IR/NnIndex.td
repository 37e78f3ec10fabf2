//===- NnIndex.td - reading and writing by computed indices -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNINDEX_TD
#define WEFT_DIALECTS_NN_IR_NNINDEX_TD

include "dialects/nn/IR/NnDialect.td"

def Nn_GatherOp : Nn_Op<"gather", shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = "read elements or slices of the operand at computed indices";
  let description = [{
    `indices` has shape `I... x K`: its innermost dim holds index vectors with one
    component for each of the K `indexed` dims of the operand. `operand_batch[i]`
    is an operand dim that runs together with index dim `indices_batch[i]`. The
    operand's remaining dims are read whole.
    Result shape: `I...`, then the operand's remaining dims in order.
    An index outside [0, size) reads zero (so that a shard of a vocabulary reads
    only its own rows); negative indices are not wrapped.

    Constraints: indices are integers of at least one dim; `indexed` and
    `operand_batch` are distinct dims of the operand, `indices_batch` of the indices
    but the last, as many as `operand_batch` and of equal sizes; K is the number of
    `indexed`; equal element types; the shape rule.

    Example, an embedding lookup:
    `%2 = nn.gather %table, %ids indexed = [0] operand_batch = [] indices_batch = []
        : (tensor<100x8xf32>, tensor<2x4x1xi64>) -> tensor<2x4x8xf32>`
  }];
  let arguments = (ins Nn_Tensor:$operand, Nn_IntegerTensor:$indices, DenseI64ArrayAttr:$indexed,
                       DenseI64ArrayAttr:$operand_batch, DenseI64ArrayAttr:$indices_batch);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = [{ $operand `,` $indices `indexed` `=` $indexed `operand_batch` `=` $operand_batch
      `indices_batch` `=` $indices_batch attr-dict `:` functional-type(operands, results) }];
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$indices,
      "::llvm::ArrayRef<int64_t>":$indexed, "::llvm::ArrayRef<int64_t>":$operandBatch,
      "::llvm::ArrayRef<int64_t>":$indicesBatch)>];
  let hasVerifier = 1;
}

def Nn_ScatterOp : Nn_Op<"scatter", shardMethods = ["getPartialRules", "getFlopsPerPoint"],
    kernelMethods = ["getLibraryCall", "getParallelDims"]> {
  let summary = "the operand with updates written at computed indices";
  let description = [{
    Dims of `updates` are those of the result of `nn.gather` with the same operand,
    indices and attributes. Updates are applied in row-major order of the index
    dims; an index outside [0, size) is dropped.

    Constraints: those of `nn.gather` on dims; updates and result have the operand's
    element type, which `add` and `mul` do not have as bool; updates have the shape
    that a gather would read, the result that of the operand.

    Example, the gradient of an embedding lookup:
    `%3 = nn.scatter add %zeros, %ids, %rows indexed = [0] operand_batch = [] indices_batch = []
        : (tensor<100x8xf32>, tensor<2x4x1xi64>, tensor<2x4x8xf32>) -> tensor<100x8xf32>`
  }];
  let arguments = (ins Nn_ScatterKindAttr:$kind, Nn_Tensor:$operand, Nn_IntegerTensor:$indices, Nn_Tensor:$updates,
      DenseI64ArrayAttr:$indexed, DenseI64ArrayAttr:$operand_batch, DenseI64ArrayAttr:$indices_batch);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = [{ $kind $operand `,` $indices `,` $updates `indexed` `=` $indexed `operand_batch` `=` $operand_batch
      `indices_batch` `=` $indices_batch attr-dict `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_NN_IR_NNINDEX_TD
