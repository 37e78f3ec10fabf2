// What is said of values before there is a mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_CHOOSING_NEEDEDAXES_H
#define WEFT_LIB_CHOOSING_NEEDEDAXES_H

#include "passes/dist/placement/PlacementRule.h"
#include "weft/Planner/Layout.h"

namespace weft::choosing {

/// Leaves only meshes in `space` on which each axis that a rule splits over has several devices.
/// Fails if there is none with any of `devices`: NoMesh (weft/Choosing/Failure.h) says which rule
/// and axis that is due to, which meshes there are, and what comes nearest.
llvm::Error needAxes(llvm::ArrayRef<dist::PlacementRule> rules, llvm::ArrayRef<int64_t> devices,
                     planner::Space &space);

} // namespace weft::choosing

#endif // WEFT_LIB_CHOOSING_NEEDEDAXES_H
