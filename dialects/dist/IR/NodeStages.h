// Stages of a pipeline by the names of a model's nodes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_DIST_IR_NODESTAGES_H
#define WEFT_DIALECTS_DIST_IR_NODESTAGES_H

#include "llvm/ADT/StringRef.h"

namespace weft::dist {

/// By name of a node the stage (I64) that its model's device configuration asks for, on the module
/// until it is cut; and the one that the node was given, to be written there.
inline constexpr llvm::StringLiteral kNodeStagesAttr = "dist.node_stages";
inline constexpr llvm::StringLiteral kRecordedStagesAttr = "dist.recorded_stages";

} // namespace weft::dist

#endif // WEFT_DIALECTS_DIST_IR_NODESTAGES_H
