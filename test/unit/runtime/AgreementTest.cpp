// What differs between the processes of a job is named.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Agreement.h"

#include <gtest/gtest.h>

using namespace weft::runtime;

namespace {

TEST(Agreement, NamesTheRankTheOptionAndBothValues) {
  std::string first = "--shuffle\t7\n--steps\t40\n";
  EXPECT_EQ(differenceOf(first, first, 3), "");
  EXPECT_EQ(differenceOf(first, "--shuffle\t8\n--steps\t40\n", 3),
            "rank 3 has --shuffle 8, rank 0 has --shuffle 7");
  EXPECT_EQ(differenceOf(first, "--steps\t40\n", 2),
            "rank 2 has no --shuffle, rank 0 has --shuffle 7");
  EXPECT_EQ(differenceOf("", "--bench\t\n", 1), "rank 1 has --bench, rank 0 has no --bench");
}

} // namespace
