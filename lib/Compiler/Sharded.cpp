// Which passes lead to the phase `sharded`, and from there to loops at `local`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Pipelines.h"

#include "passes/dist/placement/AssignAxis.h"
#include "weft/Compiler/Phases.h"
#include "weft/Compiler/StageAxis.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weft;

std::optional<ZeroStage> ZeroStage::parse(llvm::StringRef text) {
  auto [stage, axis] = text.split(':');
  bool isStage = stage.size() == 1 && stage[0] >= '0' && stage[0] <= '3';
  if (!isStage || (text.contains(':') && axis.empty()))
    return std::nullopt;
  return ZeroStage{unsigned(stage[0] - '0'), axis.str()};
}

std::vector<std::string> weft::batchAxesOf(const PhaseOptions &options) {
  if (options.batchAxes)
    return *options.batchAxes;
  return options.mesh.resolve("dp").empty() ? std::vector<std::string>()
                                            : std::vector<std::string>{"dp"};
}

std::string weft::stageAxisOf(const PhaseOptions &options) {
  AxisList axes = options.mesh.resolve(kStageAxis);
  return options.mesh.groupSize(axes) > 1 ? kStageAxis.str() : "";
}

/// Without axes the program is the one device's already.
static bool isDistributed(const PhaseOptions &options) {
  return !options.mesh.axes.empty() || options.microbatches > 1;
}

static dist::DistPlaceOptions placeOptions(const PhaseOptions &options) {
  dist::DistPlaceOptions place;
  place.rules =
      llvm::join(llvm::map_range(options.place,
                                 [](const dist::PlacementRule &rule) -> const std::string & {
                                   return rule.text;
                                 }),
                 ";");
  place.wholeMicrobatches = options.train && options.batchStats == BatchStats::PerMicrobatch;
  place.batchAxes = llvm::join(batchAxesOf(options), "+");
  place.part = options.isPart;
  return place;
}

static dist::DistPlaceStateOptions placeStateOptions(const ZeroStage &zero) {
  auto split = [](bool is) { return std::string(is ? "sharded" : "replicated"); };
  dist::DistPlaceStateOptions state;
  state.axis = zero.axis;
  state.slots = split(zero.stage >= 1);
  state.gradients = split(zero.stage >= 2);
  state.parameters = split(zero.stage >= 3);
  return state;
}

void weft::buildPlaced(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(dist::createDistAttachMesh(
      {toString(options.mesh), options.microbatches, stageAxisOf(options)}));
  pm.addPass(dist::createDistPlace(placeOptions(options)));
}

void weft::buildSharded(OpPassManager &pm, const PhaseOptions &options) {
  if (!isDistributed(options))
    return;
  auto assignAxes = [&](llvm::StringRef programs, AxisSearchMemory *memory) {
    dist::DistAssignAxisOptions assign;
    assign.programs = programs.str();
    assign.sequenceParallel = options.sequenceParallel;
    pm.addNestedPass<func::FuncOp>(dist::createDistAssignAxis(assign, memory));
  };
  // What a person said comes first and is closed.
  buildPlaced(pm, options);
  // The batch spreads before weights are split, so that the search sees what is left.
  pm.addPass(dist::createDistPropagate());
  assignAxes("lead", options.searchMemory);
  // How state is used is known now; how it is stored follows. The other programs
  // take it as they find it.
  if (options.train)
    pm.addPass(dist::createDistPlaceState(placeStateOptions(options.zero)));
  pm.addPass(dist::createDistShareState());
  assignAxes("follow", nullptr); // of several programs at a time
  // Reshards turn placements into types, of results that may still be partial.
  if (options.recordPlacements)
    pm.addPass(dist::createDistRecordPlacements());
  pm.addPass(dist::createDistInsertReshards({options.isPart}));
  if (!options.allowIdleAxes)
    pm.addPass(dist::createDistCheckAxes());
}

/// The mesh is the program's own here, not an option.
void weft::buildPartition(OpPassManager &pm, const PhaseOptions &options) {
  pm.addPass(createBeginPhase(Phase::Local, options));
  pm.addPass(createOnMesh([](OpPassManager &pm) {
    pm.addPass(dist::createDistPartition());
    pm.addPass(dist::createDistSimplifyCollectives());
    // Equal gathers of one value are one gather.
    pm.addPass(createCSEPass());
  }));
  buildRecomputation(pm);
  pm.addPass(createOnMesh([&](OpPassManager &pm) {
    // Recomputed ops read parameters as their originals do.
    pm.addPass(dist::createDistSeparateGathers());
    // Loops come last: until here microbatches are an axis like any other.
    pm.addPass(dist::createDistFormLoops());
    if (!options.onlyMeasured)
      pm.addPass(dist::createDistVerifySpmd());
  }));
}
