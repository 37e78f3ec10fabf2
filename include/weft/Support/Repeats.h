// Stretches of a line of things that repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_REPEATS_H
#define WEFT_SUPPORT_REPEATS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>

namespace weft {

/// From `from` on, each of `length` things is equal to the one a period later, if that is still in
/// the stretch.
struct Repeat {
  size_t from = 0, period = 1, length = 0;
};

/// Of the stretches that hold their period at least twice the one that covers most of `line`; of
/// those the one of the shortest period, and of those the first. Its length is 0 if there is none.
Repeat longestRepeat(llvm::ArrayRef<unsigned> line);

} // namespace weft

#endif // WEFT_SUPPORT_REPEATS_H
