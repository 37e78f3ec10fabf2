//===- NnOps.td - the closed set of tensor ops -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNOPS_TD
#define WEFT_DIALECTS_NN_IR_NNOPS_TD

include "dialects/nn/IR/NnElementwise.td"
include "dialects/nn/IR/NnLayout.td"
include "dialects/nn/IR/NnContract.td"
include "dialects/nn/IR/NnReduce.td"
include "dialects/nn/IR/NnIndex.td"
include "dialects/nn/IR/NnComposite.td"

#endif // WEFT_DIALECTS_NN_IR_NNOPS_TD
