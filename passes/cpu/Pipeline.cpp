// The order of the passes from `nn` kernels to the LLVM dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cpu/Passes.h"
#include "passes/kernels/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

void weft::cpu::buildKernelPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(kernels::createConvertNnToLinalg());
  // Bodies of several ops repeat casts and constants, which would look like
  // values needed in several places.
  manager.addNestedPass<func::FuncOp>(createCSEPass());
  manager.addPass(createLowerKernelToLoops());
  // Index arithmetic was emitted for each element anew.
  manager.addNestedPass<func::FuncOp>(createCSEPass());
  // On scalars that LLVM's vectorizer then widens, after fusion has decided
  // what is computed where by the cost of the functions.
  manager.addNestedPass<func::FuncOp>(kernels::createExpandMath());
  manager.addPass(createLowerLoopsToLLVM());
}

void weft::cpu::registerKernelPipeline() {
  PassPipelineRegistration<>("weft-cpu-kernel-pipeline",
                             "from functions of nn ops to the LLVM dialect for a CPU",
                             buildKernelPipeline);
}
