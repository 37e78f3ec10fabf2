// Which schedule a pipeline runs by, and on which rank it puts each chunk of the model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_STAGESCHEDULE_H
#define WEFT_PASSES_DIST_STAGESCHEDULE_H

#include "weft/Pipeline/Schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace weft::dist {

/// The name of the schedule that is searched for when a program is cut (searchSchedule).
inline constexpr llvm::StringLiteral kSearch = "search";

/// The schedule of `ranks` ranks that `text` means: that of a name, such as `1f1b`, with the chunks
/// of each rank where it may have several (`interleaved:2`), or one that is written out (it begins
/// with `weft`). Fails if it is none of that, or not for so many ranks and microbatches.
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

#endif // WEFT_PASSES_DIST_STAGESCHEDULE_H
