//===- NnContract.td - matrix products and convolutions -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNCONTRACT_TD
#define WEFT_DIALECTS_NN_IR_NNCONTRACT_TD

include "dialects/nn/IR/NnDialect.td"

def Nn_ContractOp : Nn_Op<"contract",
    shardMethods = ["getPartialRules", "getFlopsPerPoint", "getComputeClass"],
    kernelMethods = ["getLibraryCall", "getParallelDims"]> {
  let summary = "sum of products over shared labels (einsum of two operands)";
  let description = [{
    Each list labels the dims of one tensor; labels are small integers, distinct
    within a tensor. A label in both operands and the result is a batch dim, in
    both operands only is summed over, in one operand and the result is free. A
    label in one operand only is not allowed. `accumulate` is the type of the sum.

    Constraints: one label a dim, not negative, distinct within a tensor; equal labels
    have equal sizes; every label is in two tensors; lhs and rhs have one element
    type; result and `accumulate` are floats if it is one, else integers.

    Example, a matrix product:
    `%2 = nn.contract %0, %1 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
        : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>`
  }];
  let arguments = (ins Nn_Tensor:$lhs, Nn_Tensor:$rhs, DenseI64ArrayAttr:$lhs_labels,
                       DenseI64ArrayAttr:$rhs_labels, DenseI64ArrayAttr:$result_labels, TypeAttr:$accumulate);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = [{ $lhs `,` $rhs `lhs` `=` $lhs_labels `rhs` `=` $rhs_labels `result` `=` $result_labels
                          `accumulate` `=` $accumulate attr-dict `:` functional-type(operands, results) }];
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      "::llvm::ArrayRef<int64_t>":$lhsLabels, "::llvm::ArrayRef<int64_t>":$rhsLabels,
      "::llvm::ArrayRef<int64_t>":$resultLabels)>];
  let hasVerifier = 1;
}

def Nn_ConvOp : Nn_Op<"conv",
    shardMethods = ["getPartialRules", "localizeAttributes", "getFlopsPerPoint", "getComputeClass"],
    kernelMethods = ["getLibraryCall", "getParallelDims"]> {
  let summary = "convolution of N x C x spatial with O x C/groups x spatial to N x O x spatial";
  let description = [{
    Per spatial dim, with `dilated = (in - 1) * input_dilation + 1` and
    `reach = (filter - 1) * filter_dilation + 1`:
    `out = (dilated + pad_low + pad_high - reach) / strides + 1`. Pads may be
    negative (they cut). `input_dilation > 1` is what a transposed convolution
    needs. All lists have one entry a spatial dim.

    Constraints: input and filter have one tensor rank of at least 2; list lengths;
    strides and dilations positive; `groups` positive, C its multiple by the filter's
    channels, O its multiple; the filter fits into the padded input; equal element
    types; the result is `N x O x out`.

    Example:
    `%2 = nn.conv %0, %1 {strides = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>,
        input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64}
        : (tensor<2x6x8xf32>, tensor<10x6x3xf32>) -> tensor<2x10x8xf32>`
  }];
  let arguments = (ins Nn_Tensor:$input, Nn_Tensor:$filter, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high, DenseI64ArrayAttr:$input_dilation,
      DenseI64ArrayAttr:$filter_dilation, I64Attr:$groups);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_NN_IR_NNCONTRACT_TD
