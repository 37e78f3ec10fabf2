// Lowering of outlined kernels that every target can use: bodies of ops, elements, loop nests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_PASSES_H
#define WEFT_PASSES_KERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace weft::kernels {

#define GEN_PASS_DECL
#include "passes/kernels/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/kernels/Passes.h.inc"

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_PASSES_H
