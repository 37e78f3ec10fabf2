// Stretches of a line of things that repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Repeats.h"

using namespace weft;

/// How many things are equal to the one a period later: a loop that compilers make fast, because
/// most periods end here.
static size_t countMatches(llvm::ArrayRef<unsigned> line, size_t period) {
  size_t count = 0;
  for (size_t i = 0; i + period < line.size(); ++i)
    count += line[i] == line[i + period];
  return count;
}

Repeat weft::longestRepeat(llvm::ArrayRef<unsigned> line) {
  Repeat best;
  for (size_t period = 1; period <= line.size() / 2; ++period) {
    size_t matches = countMatches(line, period);
    if (matches < period || matches + period <= best.length)
      continue;
    for (size_t from = 0; from + period < line.size();) {
      size_t length = 0;
      while (from + length + period < line.size() &&
             line[from + length] == line[from + length + period])
        ++length;
      if (length >= period && length + period > best.length)
        best = {from, period, length + period};
      from += length + 1;
    }
  }
  return best;
}
