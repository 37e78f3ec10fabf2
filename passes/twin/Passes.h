// Passes and the pipeline that turn kernels of a grid of threads into LLVM for this processor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_TWIN_PASSES_H
#define WEFT_PASSES_TWIN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace weft::twin {

#define GEN_PASS_DECL
#include "passes/twin/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/twin/Passes.h.inc"

/// From `gpu.module`s to the LLVM dialect.
void buildTwinPipeline(mlir::OpPassManager &manager);

/// Registers `--weft-twin-pipeline`.
void registerTwinPipeline();

} // namespace weft::twin

#endif // WEFT_PASSES_TWIN_PASSES_H
