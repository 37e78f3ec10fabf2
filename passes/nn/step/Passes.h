// Passes of the phase `step`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_PASSES_H
#define WEFT_PASSES_NN_STEP_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace weft::step {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/nn/step/Passes.h.inc"

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_PASSES_H
