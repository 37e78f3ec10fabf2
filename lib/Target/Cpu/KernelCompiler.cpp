// Drives each kernel through the pipeline, LLVM's optimizer and code generator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Cpu/KernelCompiler.h"

#include "ObjectEmitter.h"
#include "passes/cpu/Passes.h"
#include "weft/Target/Cpu/Processor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace weft::cpu;

namespace {
/// What the optimizer tells of loops (that it does not vectorize a scalar tail,
/// say) means nothing to the user of a model.
struct ErrorsOnly : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    return info.getSeverity() != llvm::DS_Error;
  }
};
} // namespace

void weft::cpu::registerKernelDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// Lowers the one kernel of `module` and reads off what the runtime needs.
static LogicalResult lower(ModuleOp module, weft::KernelImage &kernel) {
  // Failures print their own diagnostics; nothing is written to stderr here.
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      OpPassManager::Nesting::Implicit);
  manager.enableVerifier(false);
  buildKernelPipeline(manager);
  if (failed(manager.run(module)))
    return failure();
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto extent = function->getAttrOfType<IntegerAttr>(kExtentAttr);
    if (!extent)
      continue;
    kernel.symbol = function.getSymName();
    kernel.shape.extent = extent.getInt();
    kernel.shape.grain = function->getAttrOfType<IntegerAttr>(kGrainAttr).getInt();
    function->removeAttr(kExtentAttr);
    function->removeAttr(kGrainAttr);
  }
  return success();
}

FailureOr<std::vector<weft::KernelImage>>
weft::cpu::compileObjects(Location loc, ArrayRef<OwningOpRef<ModuleOp>> modules,
                          const KernelOptions &options, LowerKernel lower) {
  if (failed(ObjectEmitter::check(options, loc)))
    return failure();
  std::vector<weft::KernelImage> kernels(modules.size());
  auto compile = [&](size_t number) -> LogicalResult {
    ModuleOp one = *modules[number];
    weft::KernelImage &kernel = kernels[number];
    if (failed(lower(one, kernel)))
      return failure();
    llvm::LLVMContext llvmContext;
    llvmContext.setDiagnosticHandler(std::make_unique<ErrorsOnly>());
    std::unique_ptr<llvm::Module> llvmModule =
        translateModuleToLLVMIR(one, llvmContext, kernel.symbol);
    if (!llvmModule)
      return one.emitError("LLVM IR of this kernel could not be made");
    return ObjectEmitter(options).emit(*llvmModule, kernel.bytes, one.getLoc());
  };
  if (failed(failableParallelForEachN(loc.getContext(), 0, modules.size(), compile)))
    return failure();
  return kernels;
}

weft::KernelImages weft::cpu::imagesFor(StringRef processor, std::vector<KernelImage> kernels) {
  // Without kernels of its own a program runs wherever the runtime does.
  std::string features = kernels.empty() ? "" : neededFeatures(processor);
  return {std::move(kernels), resolveProcessor(processor).name, std::move(features)};
}

FailureOr<std::vector<weft::KernelImage>> weft::cpu::compileKernels(ModuleOp module,
                                                                    const KernelOptions &options) {
  MLIRContext *context = module.getContext();
  // Loading dialects is not possible while threads run.
  DialectRegistry registry;
  registerKernelDialects(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);

  std::vector<OwningOpRef<ModuleOp>> modules;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    modules.emplace_back(ModuleOp::create(function.getLoc()));
    modules.back()->push_back(function.clone());
  }
  return compileObjects(module.getLoc(), modules, options, lower);
}
