// The order of the passes from `nn` kernels to those of a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cuda/Passes.h"
#include "passes/kernels/Passes.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

void weft::cuda::buildGpuPipeline(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createTakeMember());
  manager.addNestedPass<func::FuncOp>(kernels::createConvertNnToLinalg());
  // Bodies of several ops repeat casts and constants, which would look like values needed in
  // several places.
  manager.addNestedPass<func::FuncOp>(createCSEPass());
  manager.addPass(createDistributeKernels());
  OpPassManager &functions = manager.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  // Index arithmetic was emitted for each lane anew.
  functions.addPass(createCSEPass());
  functions.addPass(
      kernels::createExpandMath({/*keepBFloat16Casts=*/true, /*keepExponentials=*/true}));
  functions.addPass(createExpandFunctions());
  functions.addPass(createCSEPass());
}

void weft::cuda::buildNvvmPipeline(OpPassManager &manager) {
  OpPassManager &modules = manager.nest<gpu::GPUModuleOp>();
  modules.addPass(createLowerGpuToNvvm());
  modules.addPass(createReconcileUnrealizedCastsPass());
}

void weft::cuda::registerKernelPipelines() {
  PassPipelineRegistration<>("cuda-lower-kernel-to-gpu",
                             "from functions of nn ops to kernels of blocks and threads",
                             buildGpuPipeline);
  PassPipelineRegistration<>("cuda-lower-kernel-to-nvvm",
                             "from functions of nn ops to the LLVM dialect for a GPU",
                             [](OpPassManager &manager) {
                               buildGpuPipeline(manager);
                               buildNvvmPipeline(manager);
                             });
}
