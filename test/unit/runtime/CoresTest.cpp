// How ranks share the cores of a machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Cores.h"
#include "base/Threads.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace weft::runtime;

namespace {

CoreReport report(uint64_t host, std::vector<int> cores) {
  CoreReport result{};
  result.host = host;
  for (int core : cores)
    result.mask[core / 64] |= uint64_t(1) << (core % 64);
  return result;
}

using Cores = std::vector<int>;

TEST(Cores, RanksWithTheSameCoresCutThem) {
  std::vector<CoreReport> all(3, report(1, {0, 1, 2, 5, 64, 65, 70}));
  EXPECT_EQ(shareCores(all, 0).own, (Cores{0, 1}));
  EXPECT_EQ(shareCores(all, 1).own, (Cores{2, 5}));
  EXPECT_EQ(shareCores(all, 2).own, (Cores{64, 65})); // all equally many
  EXPECT_EQ(shareCores(all, 2).each(), 2u);
}

TEST(Cores, RanksThatTheLauncherBoundKeepTheirs) {
  std::vector<CoreReport> all = {report(1, {0, 1}), report(1, {2, 3})};
  CoreShare share = shareCores(all, 1);
  EXPECT_EQ(share.localRanks, 2);
  EXPECT_EQ(share.sharers, 1);
  EXPECT_EQ(share.each(), 2u);
  EXPECT_TRUE(share.own.empty()); // its mask says it already
}

TEST(Cores, MoreRanksThanCoresMoveFreely) {
  std::vector<CoreReport> all(5, report(1, {0, 1}));
  CoreShare share = shareCores(all, 4);
  EXPECT_EQ(share.each(), 1u);
  EXPECT_TRUE(share.own.empty());
}

TEST(Cores, OverlappingMasksMoveFreely) {
  std::vector<CoreReport> all = {report(1, {0, 1, 2, 3}), report(1, {2, 3})};
  EXPECT_EQ(shareCores(all, 0).each(), 2u);
  EXPECT_TRUE(shareCores(all, 0).own.empty());
}

TEST(Cores, OtherMachinesDoNotCount) {
  std::vector<CoreReport> all = {report(1, {0, 1}), report(2, {0, 1}), report(2, {0, 1})};
  EXPECT_EQ(shareCores(all, 0).sharers, 1);
  EXPECT_EQ(shareCores(all, 2).own, (Cores{1}));
}

TEST(Cores, ThreadsStayWhereTheyArePut) {
  Cores mine;
  CoreReport before = reportCores();
  for (int core = 0; core < int(CoreReport::kWords * 64) && mine.empty(); ++core)
    if (before.mask[core / 64] >> (core % 64) & 1)
      mine.push_back(core);
  ASSERT_FALSE(mine.empty());
  Worker worker(mine);
  CoreReport seen{};
  worker.post([](void *to) { *static_cast<CoreReport *>(to) = reportCores(); }, &seen);
  worker.wait();
  EXPECT_EQ(seen.mask[mine[0] / 64], uint64_t(1) << (mine[0] % 64));
  // The thread that asked is where it was.
  EXPECT_EQ(std::memcmp(before.mask, reportCores().mask, sizeof before.mask), 0);
}

} // namespace
