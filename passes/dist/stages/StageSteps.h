// In which order each stage runs the sections of a loop over microbatches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGESTEPS_H
#define WEFT_PASSES_DIST_STAGES_STAGESTEPS_H

#include "passes/dist/stages/StageSections.h"
#include "weft/Pipeline/Schedule.h"

namespace weft::dist {

/// A section and a microbatch.
using Step = std::pair<int64_t, int64_t>;

/// The steps of each stage: its actions in the schedule's order, and between them what crosses, in
/// the order in which the schedule, in a simulation where all chunks are equal, makes it, and what
/// it makes at the same time, as it is read. As this is one order for all stages, the first
/// crossing that is not over can always take place, whatever the times are: both of its stages have
/// done all that they do before. Late sections follow, microbatch by microbatch. The schedule's
/// ranks are the stages.
std::vector<std::vector<Step>> stepsOf(const LoopSections &loop,
                                       const pipeline::Schedule &schedule);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGESTEPS_H
