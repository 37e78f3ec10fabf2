// How good schedules of a pipeline are for a program, by modelled seconds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_SCHEDULERATING_H
#define WEFT_PASSES_DIST_STAGES_SCHEDULERATING_H

#include "passes/dist/stages/OpCosts.h"
#include "weft/Pipeline/Costs.h"
#include "weft/Pipeline/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <limits>

namespace weft::dist {

class StageAssignment;

struct RatedSchedule {
  std::string name; // as scheduleOf reads it
  pipeline::Schedule schedule;
  /// Of the passes of all microbatches: from the first start to the last end, or, where stages do
  /// not meet, the longest time of a rank from its own first start to its own last end.
  double seconds = 0;
  /// The shares in which ranks idle: of these seconds, and of the longest time of a rank from its
  /// own first action to its own last one.
  double wallBubble = 0, spanBubble = 0;
  /// The most bytes that a rank keeps from forward to backward passes, of values as they are before
  /// any are computed again or overwritten: good for comparing schedules.
  double kept = 0;
  bool isAsAsked = true; ///< its cut is where the model asks for it (stagesAsked)
  bool isFound = false;  ///< by searchSchedule
};

/// What the chunks of a program that is assigned cost: the modelled seconds of its ops and of what
/// crosses, and the bytes of what gradients read of forward passes: for one device of a stage and
/// one microbatch.
pipeline::Costs chunkCosts(mlir::func::FuncOp program, StageAssignment &chunks,
                           const OpCosts &costs);

/// Times the schedule, whose chunks cost `chunks`; forward passes alone if there is no way back.
/// `meet`: StageAssignment's.
RatedSchedule rate(std::string name, pipeline::Schedule schedule, const pipeline::Costs &chunks,
                   bool meet);

/// The programs of a module. The first one that updates state leads, as it has the most to do.
llvm::SmallVector<mlir::func::FuncOp> programsByLead(mlir::ModuleOp module);

/// All schedules with names for a module at `sharded` that has several stages, with one or two
/// chunks on a rank or as many as `stages` tells of (cutAsSaid), the best first: that of the
/// shortest time, and of those within a hundredth of it the one that keeps least, and of those the
/// simplest. Only those that can be cut as the model asks (stagesAsked), if any can, with as many
/// chunks as that takes. There are none if no schedule has as many chunks as `stages` tells of. Ops
/// take what `stageCosts` says (StageCosts) or, if it is empty, the model. Fails as
/// StageAssignment::cut and OpCosts::of do.
mlir::FailureOr<std::vector<RatedSchedule>> rateSchedules(mlir::ModuleOp module,
                                                          const CostModel &costs,
                                                          llvm::StringRef stages,
                                                          llvm::StringRef stageCosts);

/// Of these all, behind the one that pipeline::search finds for the chunks of one of their cuts, of
/// those under which no rank keeps more than `most` (RatedSchedule::kept): its name is kSearch, and
/// without that limit it is no longer than any of them; without gradients it is the best of them.
/// It alone is `isFound`, and missing if none keeps so little.
mlir::FailureOr<std::vector<RatedSchedule>>
searchSchedule(mlir::ModuleOp module, const CostModel &costs, llvm::StringRef stages,
               llvm::StringRef stageCosts, double most = std::numeric_limits<double>::infinity());

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_SCHEDULERATING_H
