// Equal blocks in a row: powers against walks, and against the solver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Solver/Repeat.h"
#include "Random.h"
#include "weft/Solver/Solve.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft::solver;

namespace {

std::vector<int64_t> randomBlock(int32_t states, Random &random) {
  std::vector<int64_t> block;
  for (int32_t pair = 0; pair < states * states; ++pair)
    block.push_back(random.below(4) == 0 ? kForbidden : random.below(1000));
  return block;
}

/// One block after the other.
std::vector<int64_t> costsByWalking(const std::vector<int64_t> &block, int32_t states, int32_t from,
                                    int64_t count) {
  std::vector<int64_t> now(states, kForbidden);
  now[from] = 0;
  for (; count > 0; --count) {
    std::vector<int64_t> next(states, kForbidden);
    for (int32_t left = 0; left < states; ++left)
      for (int32_t right = 0; right < states; ++right)
        if (now[left] != kForbidden && block[left * states + right] != kForbidden)
          next[right] = std::min(next[right], now[left] + block[left * states + right]);
    now = next;
  }
  return now;
}

TEST(MinPlusPower, CostsWhatTheCheapestWalkCosts) {
  Random random(1);
  for (int attempt = 0; attempt < 100; ++attempt) {
    int32_t states = 1 + random.below(6);
    int64_t count = 1 + random.below(attempt % 10 ? 40 : 3000);
    std::vector<int64_t> block = randomBlock(states, random);
    MinPlusPower power(block, states, count);
    for (int32_t from = 0; from < states; ++from) {
      std::vector<int64_t> costs = costsByWalking(block, states, from, count);
      for (int32_t to = 0; to < states; ++to) {
        ASSERT_EQ(power.cost(from, to), costs[to]);
        std::vector<int32_t> path = power.path(from, to);
        if (costs[to] == kForbidden) {
          EXPECT_TRUE(path.empty());
          continue;
        }
        ASSERT_EQ(path.size(), size_t(count) + 1);
        EXPECT_EQ(path.front(), from);
        EXPECT_EQ(path.back(), to);
        int64_t sum = 0;
        for (int64_t step = 0; step < count; ++step)
          sum += block[path[step] * states + path[step + 1]];
        EXPECT_EQ(sum, costs[to]);
      }
    }
  }
}

TEST(MinPlusPower, TakesTheExampleOfItsPage) {
  MinPlusPower power({3, 0, 1, 5}, 2, 4);
  EXPECT_EQ(power.cost(0, 0), 2);
  EXPECT_EQ(power.path(0, 0), (std::vector<int32_t>{0, 1, 0, 1, 0}));
}

TEST(MinPlusPower, AgreesWithTheSolverOnAChain) {
  Random random(2);
  for (int attempt = 0; attempt < 20; ++attempt) {
    int32_t states = 2 + random.below(5), count = 1 + random.below(96);
    Problem problem;
    problem.tables.push_back(randomBlock(states, random));
    for (int32_t border = 0; border <= count; ++border) {
      problem.variables.push_back({std::vector<int64_t>(states, 0), {}});
      if (border)
        problem.edges.push_back({border - 1, border, 0});
    }
    MinPlusPower power(problem.tables[0], states, count);
    int64_t least = kForbidden;
    for (int32_t pair = 0; pair < states * states; ++pair)
      least = std::min(least, power.cost(pair / states, pair % states));
    Solution solution = solve(problem, {});
    EXPECT_TRUE(solution.isProven);
    EXPECT_EQ(solution.cost, least);
  }
}

} // namespace
