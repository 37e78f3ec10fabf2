// Stretches of a line that repeat, against all there are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Repeats.h"

#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"

#include <random>
#include <vector>

using namespace weft;

namespace {

Repeat longest(llvm::StringRef text) {
  std::vector<unsigned> line(text.begin(), text.end());
  return longestRepeat(line);
}

void expectRepeat(llvm::StringRef text, size_t from, size_t period, size_t length) {
  Repeat found = longest(text);
  EXPECT_EQ(found.from, from) << text.str();
  EXPECT_EQ(found.period, period) << text.str();
  EXPECT_EQ(found.length, length) << text.str();
}

TEST(Repeats, OfLines) {
  expectRepeat("", 0, 1, 0);
  expectRepeat("a", 0, 1, 0);
  expectRepeat("abc", 0, 1, 0);
  expectRepeat("xaay", 1, 1, 2);
  expectRepeat("eabcabcabch", 1, 3, 9);
  // A part of a fourth period belongs to the stretch.
  expectRepeat("eabcabcabcah", 1, 3, 10);
  // A longer stretch of a longer period before a shorter one of a shorter.
  expectRepeat("aabxyzxyz", 3, 3, 6);
  // The shortest period of those that cover as much.
  expectRepeat("abababab", 0, 2, 8);
}

/// Whether the stretch of that period is one.
bool holds(const std::vector<unsigned> &line, const Repeat &repeat) {
  if (repeat.length < 2 * repeat.period || repeat.from + repeat.length > line.size())
    return false;
  for (size_t i = repeat.from; i + repeat.period < repeat.from + repeat.length; ++i)
    if (line[i] != line[i + repeat.period])
      return false;
  return true;
}

void expectLongest(const std::vector<unsigned> &line) {
  Repeat best;
  for (size_t period = 1; period <= line.size(); ++period)
    for (size_t from = 0; from < line.size(); ++from)
      for (size_t length = 2 * period; from + length <= line.size(); ++length)
        if (Repeat one{from, period, length}; length > best.length && holds(line, one))
          best = one;
  Repeat found = longestRepeat(line);
  EXPECT_EQ(found.length, best.length);
  EXPECT_EQ(found.from, best.from);
  EXPECT_EQ(found.period, best.period);
}

TEST(Repeats, AreTheLongest) {
  std::mt19937 random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    std::vector<unsigned> line(random() % 14);
    for (unsigned &word : line)
      word = random() % 3;
    expectLongest(line);
  }
}

/// Several long stretches, of different periods, in one line.
TEST(Repeats, AreTheLongestOfLongOnes) {
  std::mt19937 random(2);
  for (unsigned trial = 0; trial < 300; ++trial) {
    std::vector<unsigned> line(20 + random() % 30);
    size_t period = 1;
    for (size_t i = 0; i < line.size(); ++i) {
      if (random() % 16 == 0)
        period = 1 + random() % 9;
      line[i] = i >= period ? line[i - period] : random() % 3;
    }
    expectLongest(line);
  }
}

} // namespace
