// Compiles kernels and emits the blob.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Emit.h"
#include "weft/Target/Cpu/Processor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

FailureOr<Artifact> emit::emitArtifact(ModuleOp module, const cpu::KernelOptions &kernelOptions,
                                       const BlobOptions &options) {
  // Kernels are compiled from a module that holds nothing else.
  OwningOpRef<ModuleOp> bodies = ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.isPrivate() && !function->hasAttr(rt::kSpecAttr))
      bodies->push_back(function.clone());
  auto kernels = cpu::compileKernels(*bodies, kernelOptions);
  if (failed(kernels))
    return failure();
  llvm::StringMap<KernelShape> shapes;
  for (const cpu::CompiledKernel &kernel : *kernels)
    shapes[kernel.symbol] = {kernel.extent, kernel.grain};
  BlobOptions told = options;
  told.processor = cpu::resolveProcessor(kernelOptions.processor).name;
  // Without kernels of its own a program runs wherever the runtime does.
  told.features = kernels->empty() ? "" : cpu::neededFeatures(kernelOptions.processor);
  auto blob = emitBlob(module, shapes, told);
  if (failed(blob))
    return failure();
  return Artifact{std::move(*blob), std::move(*kernels)};
}
