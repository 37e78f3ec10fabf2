// How ranks share the devices of a machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/Units.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace weft::runtime;

namespace {

UnitReport report(std::vector<uint64_t> ids) {
  UnitReport result;
  result.count = uint32_t(ids.size());
  std::copy(ids.begin(), ids.end(), result.ids);
  return result;
}

TEST(Units, RanksThatSeeAllTakeThemInTurn) {
  std::vector<UnitReport> all(4, report({70, 71, 72, 73}));
  for (int64_t rank = 0; rank < 4; ++rank) {
    UnitShare share = shareUnits({1, 1, 1, 1}, all, rank);
    EXPECT_EQ(share.number, rank);
    EXPECT_EQ(share.onMachine, 4);
    EXPECT_FALSE(share.isShared);
  }
}

TEST(Units, WhoSeesOneOfItsOwnHasIt) {
  std::vector<UnitReport> all = {report({70}), report({71}), report({72})};
  for (int64_t rank = 0; rank < 3; ++rank) {
    UnitShare share = shareUnits({1, 1, 1}, all, rank);
    EXPECT_EQ(share.number, 0);
    EXPECT_EQ(share.onMachine, 3);
    EXPECT_FALSE(share.isShared);
  }
}

TEST(Units, PairsThatSeeTwoTakeThemInTurn) {
  std::vector<UnitReport> all = {report({70, 71}), report({72, 73}), report({70, 71}),
                                 report({72, 73})};
  std::vector<int64_t> numbers;
  for (int64_t rank = 0; rank < 4; ++rank) {
    numbers.push_back(shareUnits({1, 1, 1, 1}, all, rank).number);
    EXPECT_FALSE(shareUnits({1, 1, 1, 1}, all, rank).isShared);
  }
  EXPECT_EQ(numbers, (std::vector<int64_t>{0, 0, 1, 1}));
}

TEST(Units, MoreRanksThanDevicesShare) {
  std::vector<UnitReport> all(3, report({70, 71}));
  EXPECT_TRUE(shareUnits({1, 1, 1}, all, 0).isShared);
  EXPECT_FALSE(shareUnits({1, 1, 1}, all, 1).isShared);
  EXPECT_TRUE(shareUnits({1, 1, 1}, all, 2).isShared);
  EXPECT_EQ(shareUnits({1, 1, 1}, all, 2).onMachine, 2);
}

TEST(Units, TheSameDeviceInTwoListsIsShared) {
  std::vector<UnitReport> all = {report({70, 71}), report({70})};
  EXPECT_TRUE(shareUnits({1, 1}, all, 0).isShared);
  EXPECT_TRUE(shareUnits({1, 1}, all, 1).isShared);
}

TEST(Units, OtherMachinesDoNotCount) {
  std::vector<UnitReport> all(3, report({70}));
  EXPECT_FALSE(shareUnits({1, 2, 3}, all, 1).isShared);
  EXPECT_EQ(shareUnits({1, 2, 3}, all, 1).onMachine, 1);
}

TEST(Units, WhoSeesNoneHasNone) {
  std::vector<UnitReport> all = {report({}), report({70})};
  EXPECT_TRUE(shareUnits({1, 1}, all, 0).isShared);
  EXPECT_FALSE(shareUnits({1, 1}, all, 1).isShared);
}

} // namespace
