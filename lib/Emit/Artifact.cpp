// Compiles kernels and emits the blob.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StageKernels.h"
#include "weft/Emit/Emit.h"
#include "weft/Support/InputError.h"
#include "weft/runtime/Program.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

/// Kernels take their tensors apart; what lies in memory, and views of it, have few dims.
static LogicalResult checkRanks(ModuleOp module) {
  auto isTooHigh = [](Type type) {
    auto memory = dyn_cast<MemRefType>(type);
    return memory && memory.getRank() > int64_t(runtime::kMaxTensorRank);
  };
  WalkResult walked = module.walk([&](Operation *op) {
    if (llvm::none_of(op->getOperandTypes(), isTooHigh) &&
        llvm::none_of(op->getResultTypes(), isTooHigh))
      return WalkResult::advance();
    emitInputError(op) << "has a tensor of more than " << runtime::kMaxTensorRank
                       << " dims in memory, which no executable holds; reshape it into fewer dims "
                          "in the model";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

FailureOr<Artifact> emit::emitArtifact(ModuleOp module, const KernelOptions &kernelOptions,
                                       const BlobOptions &options) {
  const Target *target = targetOf(module);
  if (!target)
    return failure();
  if (failed(checkRanks(module)))
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
  // What is written must be what the runtime takes.
  runtime::ProgramView view;
  if (runtime::Status status = runtime::ProgramView::open(blob->data(), blob->size(), view);
      !status.ok())
    return module.emitError(status.text());
  return Artifact{target, std::move(*blob), std::move(*images)};
}

llvm::Error emit::linkExecutable(const Artifact &artifact, llvm::raw_ostream &out,
                                 const LinkOptions &options) {
  return artifact.target->link(artifact.blob, artifact.images, options, out);
}
