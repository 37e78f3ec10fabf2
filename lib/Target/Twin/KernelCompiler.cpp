// Drives each kernel through CUDA's pipeline and the twin's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Twin/KernelCompiler.h"

#include "passes/cuda/Passes.h"
#include "passes/twin/Passes.h"
#include "weft/Target/Cpu/KernelCompiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace weft::twin;

void weft::twin::registerKernelDialects(DialectRegistry &registry) {
  cpu::registerKernelDialects(registry);
  registry.insert<gpu::GPUDialect, memref::MemRefDialect, NVVM::NVVMDialect>();
}

static LogicalResult runPipeline(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      OpPassManager::Nesting::Implicit);
  manager.enableVerifier(false); // see convert-nn-to-linalg
  build(manager);
  return manager.run(module);
}

/// From CUDA's form on.
static LogicalResult lower(ModuleOp module, weft::KernelImage &kernel) {
  auto function = *(*module.getOps<gpu::GPUModuleOp>().begin()).getOps<gpu::GPUFuncOp>().begin();
  auto blocks = function->getAttrOfType<IntegerAttr>(weft::cuda::kGridAttr);
  kernel.symbol = function.getName().str();
  kernel.shape.extent = kernel.shape.grain = std::max<int64_t>(1, blocks ? blocks.getInt() : 1);
  return runPipeline(module, buildTwinPipeline);
}

static void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registerKernelDialects(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
}

/// A module of its own with a copy of the op.
static OwningOpRef<ModuleOp> alone(Operation *op) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(op->getLoc()));
  module->push_back(op->clone());
  return module;
}

FailureOr<std::vector<weft::KernelImage>> weft::twin::compileKernels(ModuleOp module,
                                                                     const KernelOptions &options) {
  loadDialects(module.getContext());
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      modules.push_back(alone(function));
  return cpu::compileObjects(module.getLoc(), modules, options,
                             [](ModuleOp one, KernelImage &kernel) {
                               return failure(failed(runPipeline(one, cuda::buildGpuPipeline)) ||
                                              failed(lower(one, kernel)));
                             });
}

FailureOr<std::vector<weft::KernelImage>>
weft::twin::compileGpuKernels(ModuleOp module, const KernelOptions &options) {
  loadDialects(module.getContext());
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (auto container : module.getOps<gpu::GPUModuleOp>())
    modules.push_back(alone(container));
  return cpu::compileObjects(module.getLoc(), modules, options, lower);
}
