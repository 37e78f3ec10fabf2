// A layout as options of the compiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_CHOOSING_APPLYLAYOUT_H
#define WEFT_LIB_CHOOSING_APPLYLAYOUT_H

#include "weft/Compiler/PhaseOptions.h"
#include "weft/Planner/Search.h"

namespace weft::choosing {

/// Stages as PhaseOptions has them; "" where there are none, or where one has no block of its own.
std::string stagesOf(const planner::Candidate &candidate);

/// Stages that `phases` has already stay.
void applyLayout(const planner::Candidate &candidate, PhaseOptions &phases);

} // namespace weft::choosing

#endif // WEFT_LIB_CHOOSING_APPLYLAYOUT_H
