// The order in which stages of a pipeline run microbatches, so that a process fits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_COMPILER_CHOOSESCHEDULE_H
#define WEFT_LIB_COMPILER_CHOOSESCHEDULE_H

#include "weft/Compiler/Compilation.h"

namespace weft {

/// Sets the schedule of `compilation`, which is at `sharded`, to the best (dist::rateSchedules, or
/// dist::searchSchedule where that is asked for) with which a process fits into
/// `options.memoryLimit`, or to that with the fewest bytes if none does. Leaves it as it is where a
/// schedule is given, there are no stages, or none is possible.
mlir::LogicalResult chooseSchedule(Compilation &compilation);

} // namespace weft

#endif // WEFT_LIB_COMPILER_CHOOSESCHEDULE_H
