// Why values move between placements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_REASONS_H
#define WEFT_PASSES_DIST_REASONS_H

#include "dialects/dist/IR/Dist.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::dist {

/// Gives each reshard of a function whose values are all placed its `dist.reason`.
void recordReasons(mlir::func::FuncOp function, MeshAttr mesh);

/// The reason of what replaces a chain of transitions that began for `first` and ended for
/// `last`; null if one of them is.
ReasonAttr joinReasons(ReasonAttr first, ReasonAttr last);

/// The reason of what serves the readers of both: that of `first` with those of `other` behind its
/// own; null if one of them is.
ReasonAttr shareReasons(ReasonAttr first, ReasonAttr other);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_REASONS_H
