// How ops and commands name the actions of a pipeline's schedule that they are part of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_ACTIONS_H
#define WEFT_DIALECTS_RT_IR_ACTIONS_H

#include "llvm/ADT/StringRef.h"

namespace weft::rt {

/// On an op or command of a pipeline: the action of its schedule that it is part of, as "F0.3":
/// kind, chunk and microbatch.
inline constexpr llvm::StringLiteral kActionAttr = "rt.action";

} // namespace weft::rt

#endif // WEFT_DIALECTS_RT_IR_ACTIONS_H
