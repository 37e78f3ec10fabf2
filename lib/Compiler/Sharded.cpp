// Which passes lead to the phase `sharded`, and from there to loops at `local`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Pipelines.h"

#include "passes/dist/Passes.h"
#include "weft/Compiler/Phases.h"
#include "weft/Compiler/ZeroStage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

std::string weft::batchAxesOf(const Mesh &mesh, llvm::StringRef given) {
  if (given == "none")
    return "";
  if (given.empty())
    return mesh.resolve("dp").empty() ? "" : "dp";
  std::string joined = given.str();
  llvm::replace(joined, ',', '+');
  return joined;
}

/// Without axes the program is the one device's already.
static bool isDistributed(const PhaseOptions &options) {
  return !options.mesh.empty() || (options.train && options.microbatches > 1);
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

void weft::buildSharded(OpPassManager &pm, const PhaseOptions &options) {
  if (!isDistributed(options))
    return;
  pm.addPass(dist::createDistAttachMesh({options.mesh, options.train ? options.microbatches : 1}));
  std::optional<Mesh> mesh = Mesh::parse(options.mesh);
  dist::DistPlaceOptions place;
  place.rules = options.place;
  place.wholeMicrobatches = options.train && options.batchStats == kPerMicrobatch;
  if (mesh)
    place.batchAxes = batchAxesOf(*mesh, options.batchAxes);
  auto assignAxes = [&](llvm::StringRef programs) {
    dist::DistAssignAxisOptions assign;
    assign.programs = programs.str();
    assign.sequenceParallel = options.sequenceParallel;
    pm.addNestedPass<func::FuncOp>(dist::createDistAssignAxis(assign));
  };
  // What a person said comes first and is closed.
  pm.addPass(dist::createDistPlace(place));
  // The batch spreads before weights are split, so that the search sees what is left.
  pm.addPass(dist::createDistPropagate());
  assignAxes("lead");
  // How state is used is known now; how it is stored follows. The other programs
  // take it as they find it.
  if (options.train)
    pm.addPass(dist::createDistPlaceState(
        placeStateOptions(ZeroStage::parse(options.zero).value_or(ZeroStage()))));
  pm.addPass(dist::createDistShareState());
  assignAxes("follow");
  // Reshards turn placements into types, of results that may still be partial.
  if (options.recordPlacements)
    pm.addPass(dist::createDistRecordPlacements());
  pm.addPass(dist::createDistInsertReshards());
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
  pm.addPass(createOnMesh([](OpPassManager &pm) {
    // Recomputed ops read parameters as their originals do.
    pm.addPass(dist::createDistSeparateSpans());
    // Loops come last: until here microbatches are an axis like any other.
    pm.addPass(dist::createDistFormLoops());
    pm.addPass(dist::createDistVerifySpmd());
  }));
}
