// Which schedule a pipeline runs by, and on which rank it puts each chunk of the model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGES_STAGESCHEDULE_H
#define WEFT_PASSES_DIST_STAGES_STAGESCHEDULE_H

#include "weft/Pipeline/Schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace weft::dist {

/// What is said where a schedule is to be searched for.
inline constexpr llvm::StringLiteral kSearch = "search";

/// What a text asks for.
enum class ScheduleRequest {
  Best,   ///< it is empty: of all that have names, the one of the shortest step (rateSchedules)
  Search, ///< kSearch: one that is found when a program is cut (searchSchedule)
  Named,  ///< `1f1b`, or `interleaved:2`, for one
  Written ///< it begins with `weft`
};
ScheduleRequest requestOf(llvm::StringRef text);

/// The schedule of `ranks` ranks that `text` means, by its name, with the chunks of each rank where
/// it may have several, or written out. Fails if it is none of that, or not for so many ranks and
/// microbatches.
llvm::Expected<pipeline::Schedule> scheduleOf(llvm::StringRef text, int64_t ranks,
                                              int64_t microbatches);

/// The rank of each chunk of the model, that is the coordinate on the axis of stages; as
/// `dist-cut-stages` has left it in `dist.place`: where that is missing, chunk i is on rank i.
std::vector<int32_t> placeOf(mlir::ModuleOp module, int64_t ranks);
void setPlace(mlir::ModuleOp module, llvm::ArrayRef<int32_t> place, int64_t ranks);

/// The chunks of each rank, ascending.
std::vector<llvm::SmallVector<int64_t, 2>> chunksByRank(llvm::ArrayRef<int32_t> place,
                                                        int64_t ranks);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_STAGES_STAGESCHEDULE_H
