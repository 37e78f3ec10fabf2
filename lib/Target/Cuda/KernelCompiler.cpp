// Drives each kernel through the pipelines, LLVM and the assembler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelCompiler.h"

#include "Assembler.h"
#include "PtxEmitter.h"
#include "passes/cuda/Members.h"
#include "passes/cuda/Passes.h"
#include "weft/Target/Cuda/Image.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;
using namespace weft::cuda;

namespace {
/// What the optimizer tells of loops means nothing to the user of a model.
struct ErrorsOnly : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    return info.getSeverity() != llvm::DS_Error;
  }
};
} // namespace

void weft::cuda::registerKernelDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, gpu::GPUDialect,
              linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
              NVVM::NVVMDialect, scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// Lowers the one kernel of `module` and reads off how it is launched.
static FailureOr<gpu::GPUModuleOp> lower(ModuleOp module, Image &image) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      OpPassManager::Nesting::Implicit);
  manager.enableVerifier(false); // see convert-nn-to-linalg
  buildGpuPipeline(manager);
  if (failed(manager.run(module)))
    return failure();
  auto kernels = *module.getOps<gpu::GPUModuleOp>().begin();
  for (auto kernel : kernels.getOps<gpu::GPUFuncOp>()) {
    image.blocks = kernel->getAttrOfType<IntegerAttr>(kGridAttr).getInt();
    image.threads = kernel.getKnownBlockSize()->front();
    image.takesTable = Members::of(kernel).has_value();
  }
  PassManager back(module.getContext(), ModuleOp::getOperationName(),
                   OpPassManager::Nesting::Implicit);
  back.enableVerifier(false);
  buildNvvmPipeline(back);
  if (failed(back.run(module)))
    return failure();
  return kernels;
}

/// Remarks may come from any thread, in any order; this one is told once.
static void remarkOnAssembler(ModuleOp module, const Chip &chip) {
  if (module.getContext()->getRemarkEngine())
    remark::missed(module.getLoc(), remark::RemarkOpts::name("no-ptxas").category("cuda"))
        << ("kernels are PTX alone, which the driver assembles for " + chip.name +
            " when a program starts: no ptxas in PATH or /usr/local/cuda/bin; "
            "WEFT_CUDA_PATH may name a CUDA toolkit")
               .str();
}

FailureOr<std::vector<weft::KernelImage>>
weft::cuda::compileKernels(ModuleOp module, const Chip &chip, const KernelOptions &options) {
  MLIRContext *context = module.getContext();
  // Loading dialects is not possible while threads run.
  DialectRegistry registry;
  registerKernelDialects(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
  std::string assembler = findAssembler();

  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<KernelImage> kernels;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    modules.emplace_back(ModuleOp::create(function.getLoc()));
    modules.back()->push_back(function.clone());
    kernels.push_back({function.getSymName().str(), {}, {}});
  }
  if (assembler.empty() && !modules.empty())
    remarkOnAssembler(module, chip);
  auto compile = [&](size_t number) -> LogicalResult {
    ModuleOp one = *modules[number];
    Image image;
    image.chip = chip.name.str();
    auto lowered = lower(one, image);
    if (failed(lowered))
      return failure();
    llvm::LLVMContext llvmContext;
    llvmContext.setDiagnosticHandler(std::make_unique<ErrorsOnly>());
    std::unique_ptr<llvm::Module> llvmModule =
        translateModuleToLLVMIR(*lowered, llvmContext, kernels[number].symbol);
    assert(llvmModule && "cuda-lower-gpu-to-nvvm leaves what can be translated");
    image.ptx = emitPtx(*llvmModule, chip, options.optLevel);
    if (!assembler.empty()) {
      auto assembled =
          assembleWithoutSpills(assembler, image.ptx, image.threads, chip, one.getLoc());
      if (failed(assembled))
        return failure();
      image.cubin = std::move(assembled->cubin);
    }
    kernels[number].shape = {int64_t(image.blocks), 1};
    writeImage(image, kernels[number].bytes);
    return success();
  };
  if (failed(failableParallelForEachN(context, 0, modules.size(), compile)))
    return failure();
  return kernels;
}
