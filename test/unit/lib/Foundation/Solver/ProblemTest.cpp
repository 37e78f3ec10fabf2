// What is wrong with a problem is said with its place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Solver/Problem.h"

#include <gtest/gtest.h>

#include <functional>

using namespace weft::solver;

namespace {

Problem pair() {
  Problem problem;
  problem.variables.push_back({{1, 2}, {{0, 4, {10, 20}}}});
  problem.variables.push_back({{3, 4, 5}, {{2, 6, {7, 8, 9}}}});
  problem.tables.push_back({0, 1, 2, 3, kForbidden, 5});
  problem.edges.push_back({0, 1, 0});
  problem.limit = 100;
  return problem;
}

std::string wrong(const std::function<void(Problem &)> &change) {
  Problem problem = pair();
  change(problem);
  return check(problem);
}

TEST(Problem, CostsAndPeaks) {
  Problem problem = pair();
  EXPECT_EQ(check(problem), "");
  EXPECT_EQ(costOf(problem, {0, 2}), 1 + 5 + 2);
  EXPECT_EQ(costOf(problem, {1, 1}), kForbidden);
  EXPECT_EQ(peakOf(problem, {1, 2}), 29);
  problem.variables[1].uses[0].begin = 4;
  EXPECT_EQ(peakOf(problem, {1, 2}), 20) << "what ends at 4 is gone at 4";
}

TEST(Problem, IsChecked) {
  EXPECT_EQ(wrong([](Problem &p) { p.limit = -1; }), "the limit is negative: -1");
  EXPECT_EQ(wrong([](Problem &p) { p.variables[1] = {}; }), "variable 1 has no strategy");
  EXPECT_EQ(wrong([](Problem &p) { p.variables[0].cost[1] = -3; }),
            "variable 0 has a cost that is negative: -3");
  EXPECT_EQ(wrong([](Problem &p) { p.variables[0].uses[0].amount = {1}; }),
            "variable 0 has 2 strategies, and a use has 1 amounts");
  EXPECT_EQ(wrong([](Problem &p) { p.variables[0].uses[0].amount[0] = kForbidden; }),
            "variable 0 has no end of memory in a use; forbid the strategy by its cost");
  EXPECT_EQ(wrong([](Problem &p) { p.variables[0].uses[0].amount[0] = -1; }),
            "variable 0 has an amount of memory that is negative: -1");
  EXPECT_EQ(wrong([](Problem &p) { p.variables[0].cost[0] = kForbidden - 1; }),
            "variable 0 has a cost that makes the sum of the largest values exceed 2^60; use a "
            "larger unit");
  EXPECT_EQ(wrong([](Problem &p) { p.edges[0].second = 2; }),
            "edge 0 joins variables 0 and 2 of 2");
  EXPECT_EQ(wrong([](Problem &p) { p.edges[0].second = 0; }), "edge 0 joins variable 0 to itself");
  EXPECT_EQ(wrong([](Problem &p) { p.edges[0].table = 1; }), "edge 0 has table 1 of 1");
  EXPECT_EQ(wrong([](Problem &p) { p.tables[0].pop_back(); }),
            "edge 0 wants a table of 2 x 3, and this has 5 costs");
  EXPECT_EQ(wrong([](Problem &p) { p.tables[0][0] = -2; }),
            "edge 0 has a cost that is negative: -2");
}

} // namespace
