// What is too much for a picture.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Plot.h"

#include "gtest/gtest.h"

using namespace weft::pipeline;

static std::string checkOneRank(int32_t microbatches, size_t actions) {
  Schedule schedule{microbatches, {0}, {{}}};
  schedule.ranks[0].assign(actions, {Kind::Forward, 0, 0});
  return checkPicture(schedule);
}

TEST(Plot, SaysHowManyMicrobatchesFit) {
  EXPECT_EQ(checkOneRank(50000, 100000), "");
  EXPECT_EQ(checkOneRank(100000, 200000), "draws at most 100000 actions, and these are 200000; up "
                                          "to 50000 microbatches fit");
  EXPECT_EQ(checkOneRank(1, 100001), "draws at most 100000 actions, and these are 100001; even one "
                                     "microbatch has too many, on fewer ranks they fit");
}

TEST(Plot, AskedOfWhatIsNoScheduleDividesByNothing) {
  EXPECT_EQ(checkOneRank(200000, 100001), "draws at most 100000 actions, and these are 100001; up "
                                          "to 199998 microbatches fit");
}
