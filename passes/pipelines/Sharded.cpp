// Which passes lead to the rung `sharded`, and from there to loops at `local`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/pipelines/Pipelines.h"

#include "passes/dist/Passes.h"
#include "passes/search/Passes.h"
#include "weft/Sharding/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

/// By custom `dp` carries the batch; it is a word of the command line, no pass
/// knows it.
static constexpr llvm::StringLiteral kBatchAxis = "dp";

/// Without axes the program is the one device's already.
static bool isDistributed(const PhaseOptions &options) {
  return !options.mesh.empty() || (options.train && options.microbatches > 1);
}

/// What `--zero STAGE[:AXIS]` stands for.
static dist::DistPlaceStateOptions placeStateOptions(llvm::StringRef zero) {
  auto [stage, axis] = zero.split(':');
  auto split = [](bool is) { return std::string(is ? "sharded" : "replicated"); };
  unsigned number = 0;
  stage.getAsInteger(10, number);
  dist::DistPlaceStateOptions state;
  state.axis = axis.empty() ? kBatchAxis.str() : axis.str();
  state.slots = split(number >= 1);
  state.gradients = split(number >= 2);
  state.parameters = split(number >= 3);
  return state;
}

void weft::buildSharded(OpPassManager &pm, const PhaseOptions &options) {
  if (!isDistributed(options))
    return;
  pm.addPass(dist::createDistAttachMesh({options.mesh, options.train ? options.microbatches.getValue() : 1}));
  std::optional<Mesh> mesh = Mesh::parse(options.mesh);
  dist::DistPlaceOptions place;
  place.rules = options.place;
  place.wholeMicrobatches = options.train && options.batchStats.getValue() == kPerMicrobatch;
  SmallVector<std::string> weightAxes;
  if (mesh) {
    AxisList batch = mesh->resolve(kBatchAxis);
    if (!batch.empty())
      place.batchAxes = kBatchAxis.str();
    for (auto [id, axis] : llvm::enumerate(mesh->axes))
      if (!llvm::is_contained(batch, int(id)))
        weightAxes.push_back(axis.name);
  }
  auto assignAxes = [&](llvm::StringRef programs) {
    for (const std::string &axis : weightAxes) {
      AssignAxisOptions assign;
      assign.axis = axis;
      assign.programs = programs.str();
      assign.sequenceParallel = options.sequenceParallel;
      pm.addNestedPass<func::FuncOp>(createAssignAxis(assign));
    }
  };
  // What a person said comes first and is closed.
  pm.addPass(dist::createDistPlace(place));
  // The batch spreads before weights are split, so that the search sees what is left.
  pm.addPass(dist::createDistPropagate());
  assignAxes("lead");
  // How state is used is known now; how it is stored follows. The other programs
  // take it as they find it.
  if (options.train)
    pm.addPass(dist::createDistPlaceState(placeStateOptions(options.zero.getValue())));
  pm.addPass(dist::createDistShareState());
  assignAxes("follow");
  // Reshards turn placements into types, of results that may still be partial.
  if (options.recordPlacements)
    pm.addPass(dist::createDistRecordPlacements());
  pm.addPass(dist::createDistInsertReshards());
  pm.addPass(dist::createDistVerifySpmd());
}

void weft::buildPartition(OpPassManager &pm, const PhaseOptions &options) {
  if (!isDistributed(options))
    return buildRecomputation(pm, options);
  pm.addPass(dist::createDistPartition());
  pm.addPass(dist::createDistSimplifyCollectives());
  // Equal gathers of one value are one gather.
  pm.addPass(createCSEPass());
  buildRecomputation(pm, options);
  // Recomputed ops read parameters as their originals do.
  pm.addPass(dist::createDistSeparatePhases());
  // Loops come last: until here microbatches are an axis like any other.
  pm.addPass(dist::createDistFormLoops());
  pm.addPass(dist::createDistVerifySpmd());
}
