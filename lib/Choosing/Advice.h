// What another question would have as its answer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_CHOOSING_ADVICE_H
#define WEFT_LIB_CHOOSING_ADVICE_H

#include "Problem.h"
#include "weft/Choosing/Choose.h"

namespace weft::choosing {

/// Fills `advice`: what would make the choice faster.
void advise(const Problem &problem, Choice &choice);

/// Fills `relaxations`, as nothing fits: one constraint at a time, each by as little as helps.
void relax(const Problem &problem, Choice &choice);

} // namespace weft::choosing

#endif // WEFT_LIB_CHOOSING_ADVICE_H
