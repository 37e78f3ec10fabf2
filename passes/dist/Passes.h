// Passes of the phases `sharded` and `local`; see Passes.td.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_PASSES_H
#define WEFT_PASSES_DIST_PASSES_H

#include "dialects/nn/IR/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace weft::dist {

#define GEN_PASS_DECL
#include "passes/dist/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/dist/Passes.h.inc"

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_PASSES_H
