// How much communication is hidden under computation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Overlap.h"

#include <gtest/gtest.h>
#include <initializer_list>

using namespace weft::runtime;

namespace {

IntervalList list(std::initializer_list<Interval> intervals) {
  IntervalList result;
  result.reserve(intervals.size());
  for (Interval interval : intervals)
    result.add(interval);
  return result;
}

void expect(const Overlap &overlap, double communication, double hidden) {
  EXPECT_DOUBLE_EQ(overlap.communication, communication);
  EXPECT_DOUBLE_EQ(overlap.hidden, hidden);
}

} // namespace

TEST(Overlap, CountsWhatIsComputedMeanwhile) {
  expect(overlapOf(list({{1, 3}, {5, 6}}), {0, 10}, list({})), 3, 3);
  // Waits cover half of the first, all of the second, and one covers parts of
  // two.
  expect(overlapOf(list({{1, 3}, {5, 6}}), {0, 10}, list({{2, 3}, {4, 7}})), 3, 1);
  expect(overlapOf(list({{1, 3}, {5, 8}}), {0, 10}, list({{2, 6}})), 5, 3);
  // Several waits in one communication.
  expect(overlapOf(list({{0, 10}}), {0, 10}, list({{1, 2}, {3, 4}, {9, 10}})), 10, 7);
}

TEST(Overlap, EndsWithComputation) {
  expect(overlapOf(list({{8, 12}}), {1, 10}, list({{9, 10}})), 4, 1);
  expect(overlapOf(list({{11, 12}}), {1, 10}, list({})), 1, 0);
  expect(overlapOf(list({}), {1, 10}, list({{2, 3}})), 0, 0);
}

TEST(Overlap, KeepsTimeOfIntervalsThatDoNotFit) {
  IntervalList intervals;
  intervals.reserve(1);
  for (double i = 0; i < 3; ++i)
    intervals.add({i, i + 0.5});
  expect(overlapOf(intervals, {0, 10}, list({})), 2.5, 2.5);
}
