// Passes that choose placements by searching over their cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_SEARCH_PASSES_H
#define WEFT_PASSES_SEARCH_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace weft {

#define GEN_PASS_DECL
#include "passes/search/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/search/Passes.h.inc"

} // namespace weft

#endif // WEFT_PASSES_SEARCH_PASSES_H
