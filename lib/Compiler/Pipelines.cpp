// Which passes make up each phase, and why in this order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Pipelines.h"

#include "passes/dist/Passes.h"
#include "passes/nn/Passes.h"
#include "passes/nn/step/Passes.h"
#include "passes/onnx/Passes.h"
#include "passes/rt/Passes.h"
#include "weft/Compiler/Phases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
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
  if (!options.mesh.axes.empty())
    pm.addPass(dist::createDistReadDevices({stageAxisOf(options), toString(options.mesh), ""}));
  buildImportToGraph(pm, options);
  // Folding first lets equal subgraphs of constants meet.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// What to train for, in the words of the pass.
static step::StepMakeTrainingOptions makeTrainingOptions(const PhaseOptions &options) {
  step::StepMakeTrainingOptions make;
  make.loss = options.loss ? options.loss->text : "";
  make.optimizer = options.optimizer ? options.optimizer->text : "";
  make.paramGroups = step::joinList(llvm::map_to_vector(
      options.paramGroups, [](const step::ParameterGroup &group) { return group.text; }));
  make.freeze = step::joinList(options.freeze);
  make.gradDtype = options.gradDtype ? precisionName(*options.gradDtype).str() : "";
  make.seed = options.seed;
  return make;
}

static void buildStep(OpPassManager &pm, const PhaseOptions &options) {
  pm.addNestedPass<func::FuncOp>(
      step::createStepSetPrecision({precisionName(options.precision).str()}));
  // Casts at the border may meet casts of the model.
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(step::createStepFillGradients());
  if (!options.train)
    return;
  // Of the program in its precision, so that gradients have it, too.
  pm.addPass(step::createStepMakeTraining(makeTrainingOptions(options)));
  pm.addNestedPass<func::FuncOp>(step::createStepWidenGradients());
  // Outputs that the loss does not need, and scalars that parameters share.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Of what is left. The driver has chosen a mode if it was to.
  pm.addNestedPass<func::FuncOp>(
      step::createStepMarkRecompute({nameOf(options.recompute), options.recomputeShare}));
  pm.addNestedPass<func::FuncOp>(step::createStepKeepLogSums({options.target}));
}

void weft::buildRecomputation(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(step::createStepCloneRecomputed());
  pm.addNestedPass<func::FuncOp>(nn::createNnClonePositions());
}

/// What stands between partitioning and routines, which are formed of microbatches as they are.
static void buildBodies(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(rt::createRtMaterializeDeviceBodies());
  pm.addPass(rt::createRtSeparateNorms());
  pm.addPass(rt::createRtSeparateSeeds());
  pm.addPass(rt::createRtSettleLayouts());
}

void weft::buildFusible(OpPassManager &pm, const PhaseOptions &options, int64_t mostMicrobatches) {
  buildPartition(pm, options);
  pm.addPass(rt::createRtSetTarget({options.target}));
  buildBodies(pm, options);
  pm.addPass(rt::createRtUnrollMicrobatches({mostMicrobatches}));
  pm.addPass(rt::createRtSplitReductions());
}

/// What one process runs, up to the order of its commands.
static void buildCommands(OpPassManager &pm, const PhaseOptions &options) {
  buildBodies(pm, options);
  if (options.routines != Routines::Unrolled)
    pm.addPass(rt::createRtFormRoutines(
        {options.bucketBytes, /*onlyLoops=*/options.routines == Routines::Auto}));
  if (options.routines == Routines::Inlined)
    pm.addPass(rt::createRtInlineRoutines());
  pm.addPass(rt::createRtUnrollMicrobatches());
  // Before kernels are formed: a reduction in two takes its operand's makers in.
  pm.addPass(rt::createRtSplitReductions());
  // From here on ops are gathered, copied and moved, but none is another.
  if (!options.onlyMeasured)
    pm.addPass(rt::createRtRecordResults());
  pm.addPass(rt::createRtFuseKernels());
  pm.addPass(rt::createRtOutlineKernels());
  pm.addPass(rt::createRtHoistConstants());
  // Program order is the order in which gradients are made.
  rt::RtFormBucketsOptions buckets;
  buckets.bytes = options.bucketBytes;
  pm.addPass(rt::createRtFormBuckets(buckets));
  pm.addPass(rt::createRtOrderCommands());
  pm.addPass(rt::createRtMaterializeUpdates());
  // What may be overwritten depends on the order, which is final here.
  pm.addPass(rt::createRtElideUpdateCopies());
  pm.addPass(rt::createRtReuseOperands());
  // What may move past what depends on who overwrites what.
  pm.addPass(rt::createRtGroupLaunches());
  pm.addPass(rt::createRtElideSumStarts());
  if (!options.onlyMeasured)
    pm.addPass(rt::createRtVerifyResults());
}

void weft::buildOutline(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(rt::createRtSetTarget({options.target})); // of the whole: stages ask for it, too
  // From here on a stage of a pipeline is a program of its own.
  pm.addPass(createOnMesh(
      [&](OpPassManager &pm) { pm.addPass(dist::createDistProjectStages({options.schedule})); }));
  pm.addPass(createOnStages([&](OpPassManager &pm) { buildCommands(pm, options); }));
  pm.addPass(createEndPhase(Phase::Local));
}

static void buildScheduled(OpPassManager &pm) {
  pm.addPass(createOnStages([](OpPassManager &pm) {
    pm.addPass(rt::createRtLowerToCommands());
    pm.addPass(rt::createRtAssignStreams());
    // Lifetimes depend on streams, so the arena comes last.
    pm.addPass(rt::createRtPlanArena());
  }));
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
  case Phase::Staged:
    return pm.addPass(createOnMesh([&](OpPassManager &pm) {
      pm.addPass(dist::createDistCutStages({options.schedule, options.stages, options.stageCosts}));
    }));
  case Phase::Import:
  case Phase::Executable:
    return;
  }
}

void weft::buildBorder(OpPassManager &pm, Phase phase) {
  switch (phase) {
  case Phase::Graph:
  case Phase::Step:
    return pm.addPass(
        nn::createNnVerifyProgram({/*complete=*/phase == Phase::Step, /*placed=*/false}));
  case Phase::Sharded:
  case Phase::Staged:
    return pm.addPass(createOnMesh(
        [](OpPassManager &pm) {
          pm.addPass(nn::createNnVerifyProgram({/*complete=*/true, /*placed=*/true}));
          pm.addPass(dist::createDistVerifySpmd());
        },
        [](OpPassManager &pm) {
          pm.addPass(nn::createNnVerifyProgram({/*complete=*/true, /*placed=*/false}));
        }));
  case Phase::Scheduled:
    pm.addPass(createOnStages([](OpPassManager &pm) { pm.addPass(rt::createRtVerifyCommands()); }));
    return pm.addPass(rt::createRtVerifyStages());
  case Phase::Import:
  case Phase::Local: // between its two parts, while there are ops to judge
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
  if (!options.onlyMeasured || phase <= Phase::Sharded)
    buildBorder(pm, phase);
  pm.addPass(createEndPhase(phase));
}
