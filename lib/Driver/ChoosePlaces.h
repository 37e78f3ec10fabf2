// What is said of values before there is a mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_CHOOSEPLACES_H
#define WEFT_LIB_DRIVER_CHOOSEPLACES_H

#include "passes/dist/PlacementRule.h"
#include "weft/Planner/Layout.h"

namespace weft::driver {

/// Leaves only meshes in `space` on which each axis that a rule splits over has several devices.
/// Returns "", or, if there is none with any of `devices`, a sentence that says which rule and axis
/// that is due to, which meshes there are, and what comes nearest.
std::string needAxes(llvm::ArrayRef<dist::PlacementRule> rules, llvm::ArrayRef<int64_t> devices,
                     planner::Space &space);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_CHOOSEPLACES_H
