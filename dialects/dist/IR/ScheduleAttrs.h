// What programs of a pipeline say of their schedule, beside its text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_DIST_IR_SCHEDULEATTRS_H
#define WEFT_DIALECTS_DIST_IR_SCHEDULEATTRS_H

#include "llvm/ADT/StringRef.h"

namespace weft::dist {

/// On a loop of one stage of a pipeline: which action of the schedule the ops of a section are, by
/// the section's number, as `{"5" = "F1"}`: the kind (F, B, W; D is B and W) and the chunk. What
/// crosses stages is of the action that sends it.
inline constexpr llvm::StringLiteral kActionsAttr = "dist.actions";
/// On the module: one line for people that says which schedule it is, what it costs, and which
/// others there were.
inline constexpr llvm::StringLiteral kScheduleReasonAttr = "dist.schedule_reason";
/// On the module (unit): its schedule is what a search has found, before the cut or with it.
inline constexpr llvm::StringLiteral kScheduleSearchedAttr = "dist.schedule_searched";

} // namespace weft::dist

#endif // WEFT_DIALECTS_DIST_IR_SCHEDULEATTRS_H
