// The comparison that all numeric tests rest on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../support/Distance.h"

#include <gtest/gtest.h>

using namespace weft::test;

namespace {

double between(double found, double expected, Specials specials) {
  Distance distance(specials);
  distance.add(1, 1);
  distance.add(found, expected);
  return distance.relative();
}

TEST(DistanceTest, IsRelativeToTheLargestFiniteValue) {
  EXPECT_DOUBLE_EQ(between(3, 4, Specials::MayAgree), 0.25);
  EXPECT_DOUBLE_EQ(between(1.5, 0, Specials::MayAgree), 1.5);
  Distance none(Specials::AreWrong, 1);
  EXPECT_EQ(none.relative(), 0);
  none.addUncompared(8);
  none.add(1, 0);
  EXPECT_DOUBLE_EQ(none.relative(), 0.125);
}

TEST(DistanceTest, AnExpectedInfinityForgivesNothing) {
  Distance distance(Specials::MayAgree);
  distance.add(INFINITY, INFINITY);
  distance.add(2, 1);
  EXPECT_DOUBLE_EQ(distance.relative(), 1);
  distance.add(5, INFINITY);
  EXPECT_EQ(distance.relative(), INFINITY);
}

TEST(DistanceTest, SpecialValuesAgreeOnlyWithThemselves) {
  for (double special : {double(INFINITY), -double(INFINITY), double(NAN)}) {
    EXPECT_EQ(between(special, special, Specials::MayAgree), 0);
    EXPECT_EQ(between(special, special, Specials::AreWrong), INFINITY);
    EXPECT_EQ(between(special, 1, Specials::MayAgree), INFINITY);
    EXPECT_EQ(between(1, special, Specials::MayAgree), INFINITY);
    EXPECT_EQ(between(-special, NAN + special, Specials::AreWrong), INFINITY);
  }
  EXPECT_EQ(between(INFINITY, -INFINITY, Specials::MayAgree), INFINITY);
  EXPECT_EQ(between(NAN, INFINITY, Specials::MayAgree), INFINITY);
}

} // namespace
