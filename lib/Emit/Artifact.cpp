// Compiles kernels and emits the blob.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Emit.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

FailureOr<Artifact> emit::emitArtifact(ModuleOp module, const KernelOptions &kernelOptions,
                                       const BlobOptions &options) {
  const Target *target = targetOf(module);
  if (!target)
    return failure();
  // Kernels are compiled from a module that holds nothing else.
  OwningOpRef<ModuleOp> bodies = ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.isPrivate() && !function->hasAttr(rt::kSpecAttr))
      bodies->push_back(function.clone());
  auto images = target->compile(*bodies, kernelOptions);
  if (failed(images))
    return failure();
  llvm::StringMap<LaunchShape> shapes;
  for (const KernelImage &kernel : images->kernels)
    shapes[kernel.symbol] = kernel.shape;
  BlobOptions told = options;
  told.target = target->name().str();
  told.processor = images->processor;
  told.features = images->features;
  auto blob = emitBlob(module, shapes, told);
  if (failed(blob))
    return failure();
  return Artifact{target, std::move(*blob), std::move(*images)};
}

bool emit::linkExecutable(const Artifact &artifact, llvm::raw_ostream &out,
                          const LinkOptions &options, std::string &error) {
  return artifact.target->link(artifact.blob, artifact.images, options, out, error);
}
