// Spreading placements along factors, for the passes that need it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_PLACEMENT_PROPAGATION_H
#define WEFT_PASSES_DIST_PLACEMENT_PROPAGATION_H

#include "dialects/dist/IR/Dist.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::dist {

struct PropagationOptions {
  /// Whether sizes that an axis does not divide may be split.
  bool uneven = true;
  /// The ops through which placements spread. Absent: all. Values at the border
  /// are placed by the ops within.
  std::function<bool(mlir::Operation *)> include;
  /// Whether arguments are seen as they are stored, not as they are used.
  bool stored = false;
};

/// Reads and writes placements as attributes; see dist-propagate.
void propagatePlacements(mlir::func::FuncOp function, MeshAttr mesh,
                         const PropagationOptions &options);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_PLACEMENT_PROPAGATION_H
