// The name by which the axis of a pipeline's stages is known on command lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_STAGEAXIS_H
#define WEFT_COMPILER_STAGEAXIS_H

#include "llvm/ADT/StringRef.h"

namespace weft {

/// By custom (stageAxisOf).
inline constexpr llvm::StringLiteral kStageAxis = "pp";

} // namespace weft

#endif // WEFT_COMPILER_STAGEAXIS_H
