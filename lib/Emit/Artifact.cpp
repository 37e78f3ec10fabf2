// Compiles kernels and emits the blob.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StageKernels.h"
#include "weft/Emit/Emit.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

FailureOr<Artifact> emit::emitArtifact(ModuleOp module, const KernelOptions &kernelOptions,
                                       const BlobOptions &options) {
  const Target *target = targetOf(module);
  if (!target)
    return failure();
  // Kernels are compiled from a module that holds nothing else.
  OwningOpRef<ModuleOp> bodies =
      StageKernels(rt::stageModulesOf(module)).makeModule(module.getLoc());
  auto images = target->compile(*bodies, kernelOptions);
  if (failed(images))
    return failure();
  llvm::StringMap<LaunchShape> shapes;
  for (const KernelImage &kernel : images->kernels)
    shapes[kernel.symbol] = kernel.shape;
  BlobOptions told = options;
  told.target = target->name().str();
  told.device = images->device;
  told.processor = images->processor;
  told.features = images->features;
  auto blob = emitBlob(module, shapes, told);
  if (failed(blob))
    return failure();
  return Artifact{target, std::move(*blob), std::move(*images)};
}

llvm::Error emit::linkExecutable(const Artifact &artifact, llvm::raw_ostream &out,
                                 const LinkOptions &options) {
  return artifact.target->link(artifact.blob, artifact.images, options, out);
}
