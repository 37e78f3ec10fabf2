// Stretches of a line of things that repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Repeats.h"

using namespace weft;

/// So many things are rarely equal by chance.
static constexpr size_t kWindow = 8;

/// How many things are equal to the one a period later: a loop that compilers make fast, because
/// most periods end here.
static size_t countMatches(llvm::ArrayRef<unsigned> line, size_t period) {
  size_t count = 0;
  for (size_t i = 0; i + period < line.size(); ++i)
    count += line[i] == line[i + period];
  return count;
}

/// Whether a stretch of the period can be longer than `length`. What is equal to the thing a period
/// later is then more than half as many things side by side, and one of the windows looked at lies
/// among them.
static bool mayHold(llvm::ArrayRef<unsigned> line, size_t period, size_t length) {
  size_t least = length / 2 + 1, window = std::min<size_t>(kWindow, (least + 1) / 2);
  for (size_t i = 0; i + window + period <= line.size(); i += least - window + 1)
    if (line.slice(i, window) == line.slice(i + period, window))
      return true;
  return false;
}

Repeat weft::longestRepeat(llvm::ArrayRef<unsigned> line) {
  Repeat best;
  for (size_t period = 1; period <= line.size() / 2; ++period) {
    if (!mayHold(line, period, best.length))
      continue;
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
