// Draws programs and takes them through all phases.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Trial.h"

#include "dialects/dist/IR/Dist.h"
#include "passes/dist/Passes.h"
#include "weft/Compiler/Pipelines.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

Trial::Trial(MLIRContext &context, uint64_t seed) : single(seed % 2) {
  Random random(seed);
  program = randomProgram(context, random, random.between(2, 12), single);
  annotate(program, random);
  propagate = random.chance(60);
  llvm::raw_string_ostream(text) << *program.module;
}

SmallVector<RankedTensorType> Trial::resultTypes() {
  return llvm::map_to_vector(program.function.getResultTypes(), llvm::CastTo<RankedTensorType>);
}

static void removePlacements(ModuleOp module) {
  module->removeAttr(dist::kMeshAttr);
  module.walk([](Operation *op) {
    op->removeAttr(dist::kPlacementsAttr);
    op->removeAttr(dist::kOperandsAttr);
    op->removeAttr(dist::kClosedAttr);
    if (auto function = dyn_cast<func::FuncOp>(op))
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        function.removeArgAttr(i, dist::kPlacementAttr);
        function.removeArgAttr(i, dist::kClosedAttr);
      }
  });
}

FailureOr<emit::Artifact> Trial::compile(bool distributed) {
  OwningOpRef<ModuleOp> module(program.module->clone());
  PhaseOptions phases;
  PassManager passes(module->getContext());
  if (distributed) {
    if (propagate)
      passes.addPass(dist::createDistPropagate());
    passes.addPass(dist::createDistInsertReshards());
    passes.addPass(dist::createDistVerifySpmd());
  } else {
    removePlacements(*module);
  }
  buildPhase(passes, Phase::Local, phases);
  buildPhase(passes, Phase::Scheduled, phases);
  if (failed(passes.run(*module)))
    return failure();
  KernelOptions kernels;
  kernels.optLevel = 1;
  emit::BlobOptions blob;
  blob.threadsPerRank = 1;
  return emit::emitArtifact(*module, kernels, blob);
}
