// The search for placements on an axis, for whoever compiles several programs alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_PLACEMENT_ASSIGNAXIS_H
#define WEFT_PASSES_DIST_PLACEMENT_ASSIGNAXIS_H

#include "passes/dist/Passes.h"
#include "weft/Search/AxisSearch.h"

namespace weft::dist {

/// With what searches of programs before have found, for one program at a time; null: nothing.
std::unique_ptr<mlir::Pass> createDistAssignAxis(DistAssignAxisOptions options,
                                                 AxisSearchMemory *memory);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_PLACEMENT_ASSIGNAXIS_H
