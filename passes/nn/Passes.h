// Passes on programs of one logical device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_PASSES_H
#define WEFT_PASSES_NN_PASSES_H

#include "dialects/nn/IR/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"

namespace weft::nn {

#define GEN_PASS_DECL
#include "passes/nn/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/nn/Passes.h.inc"

} // namespace weft::nn

#endif // WEFT_PASSES_NN_PASSES_H
