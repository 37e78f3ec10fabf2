// Which passes make up each phase, and why in this order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Pipelines.h"

#include "passes/dist/Passes.h"
#include "passes/nn/Passes.h"
#include "passes/nn/step/Passes.h"
#include "passes/onnx/Passes.h"
#include "passes/rt/Passes.h"
#include "weft/Compiler/ImportToGraph.h"
#include "weft/Compiler/Phases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
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
  int64_t batchParts =
      options.train && options.batchStats == kPerMicrobatch ? options.microbatches : 1;
  pm.addPass(
      onnx::createConvertOnnxToNn({options.bind, options.train, options.seed,
                                   options.usesModelStep(), batchParts, options.keepWeights}));
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
  pm.addPass(rt::createRtSetTarget({options.target}));
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

void weft::buildBorder(OpPassManager &pm, Phase phase) {
  switch (phase) {
  case Phase::Graph:
  case Phase::Step:
    return pm.addPass(createNnVerifyProgram({/*complete=*/phase == Phase::Step, /*placed=*/false}));
  case Phase::Sharded:
  case Phase::Staged:
    return pm.addPass(createOnMesh(
        [](OpPassManager &pm) {
          pm.addPass(createNnVerifyProgram({/*complete=*/true, /*placed=*/true}));
          pm.addPass(dist::createDistVerifySpmd());
        },
        [](OpPassManager &pm) {
          pm.addPass(createNnVerifyProgram({/*complete=*/true, /*placed=*/false}));
        }));
  case Phase::Scheduled:
    return pm.addPass(rt::createRtVerifyCommands());
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
  buildBorder(pm, phase);
  pm.addPass(createEndPhase(phase));
}

namespace {

/// The options of weft-opt's pipelines, as text.
struct PhaseOptionsText : PassPipelineOptions<PhaseOptionsText> {
  Option<std::string> bind{*this, "bind",
                           llvm::cl::desc("Extents of symbolic dims, as in weft-compile --bind")};
  Option<std::string> mesh{*this, "mesh",
                           llvm::cl::desc("Axes and sizes, dp=2,tp=2; none: one device")};
  Option<std::string> place{*this, "place", llvm::cl::desc("Placement rules, separated by ;")};
  Option<std::string> batchAxes{
      *this, "batch-axes",
      llvm::cl::desc("Axes that split the batch, dp+pod; none; empty: dp if the mesh has it")};
  Option<bool> allowIdleAxes{
      *this, "allow-idle-axes",
      llvm::cl::desc("Let processes repeat the work of others where an axis splits nothing"),
      llvm::cl::init(false)};
  Option<bool> sequenceParallel{
      *this, "sequence-parallel",
      llvm::cl::desc("Also split norms and residuals between matrix products"),
      llvm::cl::init(false)};
  Option<bool> recordPlacements{
      *this, "record-placements",
      llvm::cl::desc("Note the placements by name, for --dist-write-devices"),
      llvm::cl::init(false)};
  Option<std::string> precision{*this, "precision", llvm::cl::desc("f32, bf16, f16 or f64"),
                                llvm::cl::init("f32")};

  Option<std::string> target{*this, "target",
                             llvm::cl::desc("What it runs on, as weft-compile --target"),
                             llvm::cl::init("cpu")};
  Option<int64_t> bucketBytes{*this, "bucket-bytes",
                              llvm::cl::desc("Bytes of a bucket of collectives; 0: no buckets"),
                              llvm::cl::init(25 << 20)};
  Option<bool> keepWeights{*this, "keep-weights", llvm::cl::desc("Fold no weight into the program"),
                           llvm::cl::init(false)};
  // Training; without `train` the others mean nothing.
  Option<bool> train{*this, "train", llvm::cl::desc("Make the programs step, eval and forward"),
                     llvm::cl::init(false)};
  Option<std::string> loss{*this, "loss", llvm::cl::desc("As weft-compile --loss")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("As weft-compile --optimizer")};
  Option<std::string> paramGroups{*this, "param-groups",
                                  llvm::cl::desc("REGEX:key=value,..., separated by ;")};
  Option<std::string> freeze{*this, "freeze",
                             llvm::cl::desc("Patterns of weights not to train, separated by ;")};
  Option<std::string> gradDtype{*this, "grad-dtype",
                                llvm::cl::desc("fp32, bf16, fp16 or fp64; empty: fp32 or wider")};
  Option<std::string> recompute{*this, "recompute", llvm::cl::desc("none, selective, full or best"),
                                llvm::cl::init("none")};
  Option<double> recomputeShare{*this, "recompute-share",
                                llvm::cl::desc("With best: of what full saves, from 0 to 1"),
                                llvm::cl::init(1)};
  Option<std::string> zero{
      *this, "zero",
      llvm::cl::desc("0..3[:AXIS], what of the state is split over the batch's axes or AXIS"),
      llvm::cl::init("0")};
  Option<uint64_t> seed{*this, "seed", llvm::cl::desc("Of random numbers"), llvm::cl::init(0)};
  Option<int64_t> microbatches{
      *this, "microbatches", llvm::cl::desc("Parts that the batch is taken in"), llvm::cl::init(1)};
  Option<std::string> batchStats{*this, "batch-stats", llvm::cl::desc("global or per-microbatch"),
                                 llvm::cl::init("global")};

  PhaseOptions read() const {
    PhaseOptions options;
    options.bind = bind;
    options.mesh = mesh;
    options.place = place;
    options.batchAxes = batchAxes;
    options.allowIdleAxes = allowIdleAxes;
    options.sequenceParallel = sequenceParallel;
    options.recordPlacements = recordPlacements;
    options.precision = precision;
    options.bucketBytes = bucketBytes;
    options.target = target;
    options.keepWeights = keepWeights;
    options.train = train;
    options.loss = loss;
    options.optimizer = optimizer;
    options.paramGroups = paramGroups;
    options.freeze = freeze;
    options.gradDtype = gradDtype;
    options.recompute = recompute;
    options.recomputeShare = recomputeShare;
    options.zero = zero;
    options.seed = seed;
    options.microbatches = microbatches;
    options.batchStats = batchStats;
    return options;
  }
};

} // namespace

void weft::registerPipelines() {
  registerPhasePasses();
  registerImportToGraphPipeline();
  for (Phase phase :
       {Phase::Graph, Phase::Step, Phase::Sharded, Phase::Staged, Phase::Local, Phase::Scheduled}) {
    std::string flag = ("weft-" + phaseName(phase) + "-pipeline").str();
    std::string summary = ("Lead from the phase before to '" + phaseName(phase) + "'").str();
    auto build = [phase](OpPassManager &pm, StringRef text,
                         llvm::function_ref<LogicalResult(const Twine &)> error) -> LogicalResult {
      PhaseOptionsText options;
      if (failed(options.parseFromString(text)))
        return error("cannot read the options of pipeline '" + phaseName(phase) + "'");
      // A text may have been edited since its phase ended, if it is of that phase at all.
      pm.addPass(createBeginPhase(phase, options.read()));
      buildBorder(pm, Phase(unsigned(phase) - 1));
      buildPhase(pm, phase, options.read());
      return success();
    };
    registerPassPipeline(flag, summary, build,
                         [](llvm::function_ref<void(const mlir::detail::PassOptions &)> visit) {
                           visit(PhaseOptionsText());
                         });
  }
}
