// How much is recomputed in the backward pass so that a process fits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_COMPILER_CHOOSERECOMPUTE_H
#define WEFT_LIB_COMPILER_CHOOSERECOMPUTE_H

#include "weft/Compiler/Compilation.h"

namespace weft {

/// Sets the mode and share of `compilation`, which is at `graph`, to the least recomputation with
/// which a process fits into `options.memoryLimit`; to Recompute::Full if none does.
mlir::LogicalResult chooseRecompute(Compilation &compilation);

} // namespace weft

#endif // WEFT_LIB_COMPILER_CHOOSERECOMPUTE_H
