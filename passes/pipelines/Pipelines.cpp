// Which passes make up each phase, and why in this order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/pipelines/Pipelines.h"

#include "passes/dist/Passes.h"
#include "passes/nn/Passes.h"
#include "passes/onnx/Passes.h"
#include "passes/pipelines/ImportToGraph.h"
#include "passes/pipelines/Phases.h"
#include "passes/rt/Passes.h"
#include "passes/step/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

static constexpr llvm::StringLiteral kNames[kNumPhases] = {
    "import", "graph", "step", "sharded", "staged", "local", "scheduled", "executable"};

llvm::StringRef weft::phaseName(Phase phase) { return kNames[unsigned(phase)]; }

std::optional<Phase> weft::parsePhase(llvm::StringRef name) {
  for (unsigned i = 0; i < kNumPhases; ++i)
    if (kNames[i] == name)
      return Phase(i);
  return std::nullopt;
}

static void buildGraph(OpPassManager &pm, const PhaseOptions &options) {
  // Conversion drops what it has no words for.
  if (!options.mesh.empty())
    pm.addPass(dist::createDistReadDevices({options.mesh, ""}));
  bool ownStep = options.loss.empty() && options.optimizer.empty();
  int64_t batchParts = options.train && options.batchStats.getValue() == kPerMicrobatch
                           ? options.microbatches.getValue()
                           : 1;
  pm.addPass(onnx::createConvertOnnxToNn(
      {options.bind, options.train, options.seed, ownStep, batchParts, options.keepWeights}));
  buildRaiseIdioms(pm, /*exact=*/options.precision == "f64");
  // Folding first lets equal subgraphs of constants meet.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void buildStep(OpPassManager &pm, const PhaseOptions &options) {
  pm.addNestedPass<func::FuncOp>(step::createStepSetPrecision({options.precision}));
  // Casts at the border may meet casts of the model.
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(step::createStepFillGradients());
  if (!options.train)
    return;
  // Of the program in its precision, so that gradients have it, too.
  pm.addPass(step::createStepMakeTraining({options.loss, options.optimizer, options.paramGroups,
                                           options.freeze, options.gradDtype, options.seed}));
  pm.addNestedPass<func::FuncOp>(step::createStepWidenGradients());
  // Outputs that the loss does not need, and scalars that parameters share.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Of what is left. The driver has chosen a mode if it was to.
  pm.addNestedPass<func::FuncOp>(
      step::createStepMarkRecompute({options.recompute, options.recomputeShare}));
}

void weft::buildRecomputation(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(step::createStepCloneRecomputed());
  pm.addNestedPass<func::FuncOp>(createNnClonePositions());
}

void weft::buildOutline(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(rt::createRtMaterializeDeviceBodies());
  pm.addPass(rt::createRtUnrollMicrobatches());
  // Before kernels are formed: a reduction in two takes its operand's makers in.
  pm.addPass(rt::createRtSplitReductions());
  pm.addPass(rt::createRtFuseKernels());
  pm.addPass(rt::createRtOutlineKernels());
  // Program order is the order in which gradients are made.
  rt::RtFormBucketsOptions buckets;
  buckets.bytes = options.bucketBytes;
  pm.addPass(rt::createRtFormBuckets(buckets));
  pm.addPass(rt::createRtOrderCommands());
  pm.addPass(rt::createRtMaterializeUpdates());
  // What may be overwritten depends on the order, which is final here.
  pm.addPass(rt::createRtElideUpdateCopies());
  pm.addPass(rt::createRtReuseOperands());
  pm.addPass(createEndPhase(Phase::Local));
}

static void buildScheduled(OpPassManager &pm) {
  pm.addPass(rt::createRtLowerToCommands());
  pm.addPass(rt::createRtAssignStreams());
  // Lifetimes depend on streams, so the arena comes last.
  pm.addPass(rt::createRtPlanArena());
  pm.addPass(rt::createRtVerifyCommands());
}

static void buildBetween(OpPassManager &pm, Phase phase, const PhaseOptions &options) {
  switch (phase) {
  case Phase::Graph:
    return buildGraph(pm, options);
  case Phase::Step:
    return buildStep(pm, options);
  case Phase::Sharded:
    return buildSharded(pm, options);
  case Phase::Local:
    buildPartition(pm, options);
    return buildOutline(pm, options);
  case Phase::Scheduled:
    return buildScheduled(pm);
  case Phase::Import:
  case Phase::Staged: // one stage: nothing to cut
  case Phase::Executable:
    return;
  }
}

void weft::buildPhase(OpPassManager &pm, Phase phase, const PhaseOptions &options) {
  // `local` has its borders in its two parts.
  if (phase == Phase::Local)
    return buildBetween(pm, phase, options);
  pm.addPass(createBeginPhase(phase, options));
  buildBetween(pm, phase, options);
  pm.addPass(createEndPhase(phase));
}

void weft::registerPipelines() {
  registerPhasePasses();
  for (Phase phase :
       {Phase::Graph, Phase::Step, Phase::Sharded, Phase::Staged, Phase::Local, Phase::Scheduled}) {
    std::string flag = ("weft-" + phaseName(phase) + "-pipeline").str();
    std::string summary = ("Lead from the phase before to '" + phaseName(phase) + "'").str();
    auto build = [phase](OpPassManager &pm, StringRef text,
                         llvm::function_ref<LogicalResult(const Twine &)> error) -> LogicalResult {
      PhaseOptions options;
      if (failed(options.parseFromString(text)))
        return error("cannot read the options of pipeline '" + phaseName(phase) + "'");
      buildPhase(pm, phase, options);
      return success();
    };
    registerPassPipeline(flag, summary, build,
                         [](llvm::function_ref<void(const mlir::detail::PassOptions &)> visit) {
                           visit(PhaseOptions());
                         });
  }
}
