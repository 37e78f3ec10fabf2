// The order of the passes from kernels of a grid to the LLVM dialect of this processor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cpu/Passes.h"
#include "passes/kernels/Passes.h"
#include "passes/twin/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

void weft::twin::buildTwinPipeline(OpPassManager &manager) {
  manager.addPass(createLowerGpuToHost());
  // From here on as kernels for a CPU, so that functions have their bits.
  manager.addNestedPass<LLVM::LLVMFuncOp>(createCSEPass());
  manager.addNestedPass<LLVM::LLVMFuncOp>(kernels::createExpandMath());
  manager.addPass(cpu::createLowerLoopsToLLVM());
}

void weft::twin::registerTwinPipeline() {
  PassPipelineRegistration<>(
      "weft-twin-pipeline",
      "from kernels of a grid of threads to the LLVM dialect for the emulator", buildTwinPipeline);
}
