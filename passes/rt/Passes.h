// Passes from local tensors to scheduled commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_PASSES_H
#define WEFT_PASSES_RT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace weft::rt {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/rt/Passes.h.inc"

} // namespace weft::rt

#endif // WEFT_PASSES_RT_PASSES_H
