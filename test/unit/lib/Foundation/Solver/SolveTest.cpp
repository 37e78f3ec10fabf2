// Whole problems: against all plans, over threads and runs, with little work.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Solver/Solve.h"
#include "BruteForce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace weft::solver;

namespace {

bool isFull() {
  const char *full = std::getenv("WEFT_TEST_FULL");
  return full && std::string(full) == "1";
}

/// What holds for every solution.
void expectConsistent(const Problem &problem, const Solution &solution) {
  ASSERT_TRUE(solution.isFeasible);
  EXPECT_EQ(costOf(problem, solution.plan), solution.cost);
  EXPECT_EQ(peakOf(problem, solution.plan), solution.peak);
  EXPECT_LT(solution.cost, kForbidden);
  if (problem.limit) {
    EXPECT_LE(solution.peak, *problem.limit);
  }
  EXPECT_LE(solution.lowerBound, solution.cost);
  if (solution.isProven) {
    EXPECT_EQ(solution.lowerBound, solution.cost);
  }
}

/// A limit between the least peak and that of the cheapest plan: memory binds, where they differ.
void bind(Problem &problem, const Extremes &free, Random &random) {
  int64_t slack = std::max<int64_t>(0, free.peakOfCheapest - 1 - free.leastPeak);
  problem.limit = free.leastPeak + int64_t(random.unit() * double(slack));
}

TEST(Solve, FindsWhatTryingAllPlansFinds) {
  Random random(17);
  int problems = 0, bound = 0, none = 0;
  double gaps = 0;
  int64_t most = isFull() ? 800 : 240;
  while (problems < most) {
    Shape shape = Shape(problems % 4);
    // A few have as many as 10^7 plans, most have fewer.
    double plans = problems % 60 == 7 ? 1e7 : std::pow(10.0, 1 + 4.3 * random.unit());
    Problem problem = randomProblem(shape, plans, random);
    Extremes all = tryAll(problem);
    if (problems % 3 && all.leastCost < kForbidden) {
      bind(problem, all, random);
      all = tryAll(problem);
      bound += all.leastFitting > all.leastCost;
    } else {
      all.leastFitting = all.leastCost;
    }
    ASSERT_EQ(check(problem), "");
    Solution solution = solve(problem, {});
    ++problems;
    if (all.leastFitting == kForbidden) {
      ++none;
      EXPECT_FALSE(solution.isFeasible);
      EXPECT_TRUE(solution.isProven);
      EXPECT_EQ(solution.lowerBound, kForbidden);
      continue;
    }
    expectConsistent(problem, solution);
    EXPECT_LE(solution.lowerBound, all.leastFitting) << problems;
    double gap =
        double(solution.cost - all.leastFitting) / double(std::max<int64_t>(1, all.leastFitting));
    if (shape == Shape::Chain || shape == Shape::Tree) {
      EXPECT_EQ(solution.cost, all.leastFitting) << problems;
    }
    EXPECT_LE(gap, 0.01) << problems;
    gaps += gap;
  }
  EXPECT_LE(gaps / problems, 0.0005);
  EXPECT_GE(2 * bound, problems);
  std::printf("%d problems, memory binds in %d, %d without a plan, mean gap %g\n", problems, bound,
              none, gaps / problems);
}

TEST(Solve, SaysWhenNothingFits) {
  Random random(5);
  int refused = 0;
  for (int attempt = 0; attempt < 60; ++attempt) {
    Problem problem = randomProblem(Shape(attempt % 4), 2000, random);
    Extremes all = tryAll(problem);
    if (all.leastCost == kForbidden || all.leastPeak == 0)
      continue;
    problem.limit = all.leastPeak - 1;
    Solution solution = solve(problem, {});
    EXPECT_FALSE(solution.isFeasible);
    EXPECT_TRUE(solution.isProven);
    problem.limit = all.leastPeak;
    EXPECT_TRUE(solve(problem, {}).isFeasible);
    ++refused;
  }
  EXPECT_GE(refused, 30);
}

TEST(Solve, BoundsHoldHoweverLittleWorkIsDone) {
  Random random(23);
  for (int attempt = 0; attempt < 80; ++attempt) {
    Problem problem = randomProblem(Shape(attempt % 4), 5000, random);
    Extremes all = tryAll(problem);
    if (all.leastCost == kForbidden)
      continue;
    bind(problem, all, random);
    all = tryAll(problem);
    for (double work : {0.0, 100.0, 1e3, 1e4, 1e5}) {
      Options options;
      options.work = work;
      Solution solution = solve(problem, options);
      EXPECT_LE(solution.lowerBound, all.leastFitting);
      if (solution.isFeasible)
        expectConsistent(problem, solution);
      else
        EXPECT_FALSE(solution.isProven);
    }
  }
}

/// A grid is not solved by elimination, and its memory binds: search does all of the work.
Problem grid(int32_t side, Random &random) {
  Problem problem;
  int64_t least = 0;
  for (int32_t index = 0; index < side * side; ++index) {
    Variable variable;
    Use use{index, index + side, {}};
    for (int32_t strategy = 0; strategy < 6; ++strategy) {
      variable.cost.push_back(random.below(1000));
      use.amount.push_back(100 + random.below(100) * (5 - strategy));
    }
    least += *std::min_element(use.amount.begin(), use.amount.end());
    variable.uses.push_back(std::move(use));
    problem.variables.push_back(std::move(variable));
  }
  for (int32_t table = 0; table < 5; ++table) {
    problem.tables.emplace_back();
    for (int32_t pair = 0; pair < 36; ++pair)
      problem.tables.back().push_back(pair % 11 == table ? kForbidden : random.below(1000));
  }
  for (int32_t index = 0; index < side * side; ++index) {
    if (index % side + 1 < side)
      problem.edges.push_back({index, index + 1, random.below(5)});
    if (index + side < side * side)
      problem.edges.push_back({index, index + side, random.below(5)});
  }
  problem.limit = least / side * 8 / 5;
  return problem;
}

TEST(Solve, IsTheSameForThreadsAndRuns) {
  Random random(3);
  Problem problem = grid(20, random);
  Options options;
  options.work = 1.5e7;
  Solution first = solve(problem, options);
  expectConsistent(problem, first);
  EXPECT_FALSE(first.isProven) << "the problem is too easy for this test";
  for (int run = 0; run < 10; ++run) {
    options.threads = 1 + run % 2;
    Solution again = solve(problem, options);
    EXPECT_EQ(again.plan, first.plan);
    EXPECT_EQ(again.lowerBound, first.lowerBound);
    EXPECT_EQ(again.work, first.work);
  }
}

TEST(Solve, ComesNearTheBoundOfAGrid) {
  Random random(9);
  Problem problem = grid(12, random);
  Options options;
  options.work = 2e8;
  int plans = 0;
  options.progress = [&](const Solution &solution) { plans += solution.isFeasible; };
  Solution solution = solve(problem, options);
  expectConsistent(problem, solution);
  EXPECT_GT(plans, 0);
  EXPECT_LE(double(solution.cost), 1.15 * double(solution.lowerBound));
}

TEST(Solve, KeepsADeadline) {
  Random random(4);
  Problem problem = grid(30, random);
  Options options;
  options.seconds = 0.3;
  auto start = std::chrono::steady_clock::now();
  Solution solution = solve(problem, options);
  double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(took, 5);
  EXPECT_LE(solution.lowerBound, solution.cost);
}

TEST(Solve, ProblemsOfNothing) {
  Problem empty;
  Solution solution = solve(empty, {});
  EXPECT_TRUE(solution.isFeasible && solution.isProven);
  EXPECT_EQ(solution.cost, 0);
  Problem one;
  one.variables.push_back({{7, 3, kForbidden}, {{0, 5, {1, 9, 0}}}});
  EXPECT_EQ(solve(one, {}).cost, 3);
  one.limit = 8;
  EXPECT_EQ(solve(one, {}).cost, 7);
  one.limit = 0;
  solution = solve(one, {});
  EXPECT_FALSE(solution.isFeasible);
  EXPECT_TRUE(solution.isProven);
}

} // namespace
