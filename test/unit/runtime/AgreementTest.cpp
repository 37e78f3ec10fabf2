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

TEST(Agreement, ShowsOfLongValuesWhereTheyDiffer) {
  std::string prompt(5000, 'a');
  std::string text = differenceOf("--generate\t" + prompt + "bc\n--steps\t4\n",
                                  "--generate\t" + prompt + "bd\n--steps\t4\n", 1);
  EXPECT_NE(text.find("aabd, rank 0 has ..."), std::string::npos) << text;
  EXPECT_LT(text.size(), 300u);
}

} // namespace
