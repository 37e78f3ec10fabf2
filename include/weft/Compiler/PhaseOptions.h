// What the phases are asked to make.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_PHASEOPTIONS_H
#define WEFT_COMPILER_PHASEOPTIONS_H

#include "passes/dist/placement/PlacementRule.h"
#include "passes/nn/step/TrainingSpec.h"
#include "passes/onnx/OnnxToNn.h"
#include "weft/Cost/Recompute.h"
#include "weft/Sharding/Mesh.h"

namespace weft {

class AxisSearchMemory;

/// How much of the training state is split: nothing (0), the optimizer's state (1), gradients too
/// (2), parameters too (3).
struct ZeroStage {
  unsigned stage = 0;
  /// Over which axis or sub-axis; empty: the batch's.
  std::string axis;

  /// Reads `0` to `3`, or with an axis `2:dp.1`.
  static std::optional<ZeroStage> parse(llvm::StringRef text);
};

/// What BatchNormalization takes its statistics of in training.
enum class BatchStats { Global, PerMicrobatch };

/// What becomes of what repeats: microbatches, and blocks of the model.
enum class Routines {
  Auto,     // called if there are several microbatches, for each of which it would be written out
  Called,   // it is a routine, called as often as it is repeated
  Inlined,  // routines are formed, and put back where they are called
  Unrolled, // it is written out: the reference that tests compare with
};

/// Whoever fills it has parsed it: passes that have text for an option get it where pipelines are
/// built (lib/Compiler/Pipelines.cpp, Sharded.cpp).
struct PhaseOptions {
  onnx::Bindings bindings;
  /// Off for the oracle, which runs the program before idioms are raised.
  bool raise = true;
  /// Attention becomes one op; else it stays the products and the softmax that the model says. Not
  /// said: as the target has it.
  std::optional<bool> raiseAttention;
  /// Without axes: one device.
  Mesh mesh;
  std::vector<dist::PlacementRule> place;
  /// The program has fewer blocks than the model, and `place` was said of more blocks and axes than
  /// there are: what it names of the rest is left out, and no gradient's addends are taken for far.
  bool isPart = false;
  /// Figures are read off what is made, and nobody runs it: nothing judges it behind `sharded`.
  bool onlyMeasured = false;
  /// Names of axes that split the batch; nothing: dp if the mesh has it.
  std::optional<std::vector<std::string>> batchAxes;
  /// In which order stages of a pipeline run microbatches: a name, or the text of a schedule;
  /// "search": one that is searched for (dist::searchSchedule); "": the best of those with names
  /// (dist::rateSchedules) that fits into memory.
  std::string schedule;
  /// Where its chunks begin, as dist::cutAsSaid reads it; "": where that takes the least time.
  std::string stages;
  /// How long nodes take, for the cut and the schedule: the text of passes/dist/stages/OpCosts.h;
  /// "": what the model of costs says.
  std::string stageCosts;
  /// Parts that the batch is taken in.
  int64_t microbatches = 1;
  /// Let processes repeat the work of others where an axis splits nothing.
  bool allowIdleAxes = false;
  /// Also split norms and residuals between matrix products.
  bool sequenceParallel = false;
  /// Of whoever compiles programs of the same blocks one after the other; null: none.
  AxisSearchMemory *searchMemory = nullptr;
  /// Note the placements by name, for `dist-write-devices`.
  bool recordPlacements = false;
  Precision precision = Precision::F32;
  /// Bytes of a bucket of collectives; 0: no buckets.
  int64_t bucketBytes = 25 << 20;
  /// The name of the target, which acts from `local` on, and on attention.
  std::string target = "cpu";
  Routines routines = Routines::Auto;
  /// Fold no weight into the program.
  bool keepWeights = false;

  /// Make the programs step, eval and forward. Without it what follows means nothing.
  bool train = false;
  std::optional<step::LossSpec> loss;
  std::optional<step::OptimizerSpec> optimizer;
  /// Without a loss and an optimizer the model itself says how it is trained.
  bool usesModelStep() const { return !loss && !optimizer; }
  std::vector<step::ParameterGroup> paramGroups;
  /// Patterns of weights not to train.
  std::vector<std::string> freeze;
  /// Of weight gradients; nothing: fp32 or the weight's type if wider.
  std::optional<Precision> gradDtype;
  Recompute recompute = Recompute::None;
  /// With Recompute::Best: of what Recompute::Full saves, 0 to 1.
  double recomputeShare = 1;
  ZeroStage zero;
  /// Of random numbers.
  uint64_t seed = 0;
  BatchStats batchStats = BatchStats::Global;
  /// Equal parts of the batch with statistics of their own in training.
  int64_t batchParts() const {
    return train && batchStats == BatchStats::PerMicrobatch ? microbatches : 1;
  }
};

/// The axes of the mesh that split the batch: those given, else, by custom, `dp`. This and the next
/// are all of a mesh that is given that knows an axis by its name; what others are for follows from
/// placements. (The planner makes meshes, and has names of its own for what it tries: Layout.h.)
std::vector<std::string> batchAxesOf(const PhaseOptions &options);
/// The axis that counts the stages of a pipeline, by custom `pp`; "" if there is one stage.
std::string stageAxisOf(const PhaseOptions &options);

} // namespace weft

#endif // WEFT_COMPILER_PHASEOPTIONS_H
