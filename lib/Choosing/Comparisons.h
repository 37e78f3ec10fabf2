// What a choice is compared with beside the losers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_CHOOSING_COMPARISONS_H
#define WEFT_LIB_CHOOSING_COMPARISONS_H

#include "Problem.h"
#include "weft/Choosing/Choose.h"

namespace weft::choosing {

/// Fills `folklore`; where that is the best of its kind, it is among `search.kinds`, too.
void compareWithFolklore(const Problem &problem, Choice &choice);

/// Fills `oneDevice`.
void compareWithOneDevice(const Problem &problem, Choice &choice);

} // namespace weft::choosing

#endif // WEFT_LIB_CHOOSING_COMPARISONS_H
