// How loops of a pipeline's stages name the actions of their schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_DIST_IR_ACTIONS_H
#define WEFT_DIALECTS_DIST_IR_ACTIONS_H

#include "llvm/ADT/StringRef.h"

namespace weft::dist {

/// On a loop of one stage of a pipeline: which action of the schedule the ops of a section are, by
/// the section's number, as `{"5" = "F1"}`: the kind (F, B, W; D is B and W) and the chunk. What
/// crosses stages is of the action that sends it.
inline constexpr llvm::StringLiteral kActionsAttr = "dist.actions";

} // namespace weft::dist

#endif // WEFT_DIALECTS_DIST_IR_ACTIONS_H
