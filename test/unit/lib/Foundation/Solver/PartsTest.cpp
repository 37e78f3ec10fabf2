// The solver's parts, where whole problems would hide a fault.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BruteForce.h"
#include "Dual.h"
#include "Reduce.h"
#include "Search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace weft::solver;

namespace {

Budget ample() { return Budget(Budget::Clock::time_point::max(), 3e7); }

/// The cheapest plan of a core that fits, by trying all.
double leastOf(const Core &core, std::vector<int32_t> *best = nullptr) {
  std::vector<int32_t> plan(core.variables.size());
  double least = kInfinity;
  while (true) {
    double cost = core.costOf(plan);
    if (cost < least && core.fits(plan)) {
      least = cost;
      if (best)
        *best = plan;
    }
    size_t digit = 0;
    while (digit < plan.size() && ++plan[digit] == core.variables[digit].size())
      plan[digit++] = 0;
    if (digit == plan.size())
      return least;
  }
}

/// Problems whose memory binds, with a core that has something left; and what they cost at least.
class Cores : public testing::Test {
protected:
  template <typename Test> void forEach(int wanted, Test test) {
    Random random(31);
    for (int made = 0, attempt = 0; made < wanted && attempt < 20 * wanted; ++attempt) {
      Problem problem = randomProblem(Shape(attempt % 4), 3000, random);
      Extremes all = tryAll(problem);
      if (all.leastCost == kForbidden || all.leastPeak >= all.peakOfCheapest)
        continue;
      problem.limit = (all.leastPeak + all.peakOfCheapest) / 2;
      all = tryAll(problem);
      std::optional<Reduced> reduced = reduce(problem);
      ASSERT_TRUE(reduced);
      if (reduced->core.variables.empty())
        continue;
      test(problem, *reduced, double(all.leastFitting));
      ++made;
    }
  }
};

TEST_F(Cores, KeepAnOptimumAndLiftIt) {
  forEach(80, [](const Problem &problem, const Reduced &reduced, double least) {
    std::vector<int32_t> best;
    EXPECT_EQ(leastOf(reduced.core, &best), least);
    Plan plan = reduced.lift(best);
    EXPECT_EQ(double(costOf(problem, plan)), least);
    EXPECT_LE(peakOf(problem, plan), *problem.limit);
  });
}

TEST_F(Cores, FitExactlyWhereTheirPlansDo) {
  Random random(1);
  forEach(60, [&](const Problem &problem, const Reduced &reduced, double) {
    std::vector<int32_t> plan;
    for (const CoreVariable &variable : reduced.core.variables)
      plan.push_back(random.below(variable.size()));
    Plan whole = reduced.lift(plan);
    double cost = reduced.core.costOf(plan);
    if (cost == kInfinity || std::count(whole.begin(), whole.end(), -1))
      return;
    EXPECT_EQ(double(costOf(problem, whole)), cost);
    EXPECT_EQ(peakOf(problem, whole) <= *problem.limit, reduced.core.fits(plan));
  });
}

TEST_F(Cores, AreBoundedByMessages) {
  double closed = 0, count = 0;
  forEach(60, [&](const Problem &, const Reduced &reduced, double least) {
    std::vector<int32_t> best;
    leastOf(reduced.core, &best);
    Budget budget = ample();
    Dual dual(reduced.core, 1);
    dual.run(budget, least, [](const std::vector<int32_t> &) {});
    EXPECT_LE(dual.bound(), least);
    closed += dual.bound() / std::max(1.0, least);
    ++count;
    if (dual.isExact())
      return;
    // No strategy of a best plan may be excluded.
    std::vector<std::vector<double>> excess = dual.excess(budget);
    for (size_t index = 0; index < best.size(); ++index)
      EXPECT_LE(dual.bound() + excess[index][best[index]], least * (1 + 1e-9) + 1e-6);
  });
  EXPECT_GE(closed / count, 0.8);
}

TEST_F(Cores, AreBoundedByElimination) {
  forEach(60, [](const Problem &, const Reduced &reduced, double least) {
    Budget budget = ample();
    Dual dual(reduced.core, 1e6);
    ASSERT_TRUE(dual.isExact());
    dual.run(budget, least, [](const std::vector<int32_t> &) {});
    EXPECT_LE(dual.bound(), least);
  });
}

TEST_F(Cores, AreSolvedBySearchAlone) {
  int solved = 0, count = 0;
  forEach(60, [&](const Problem &, const Reduced &reduced, double least) {
    Search search(reduced.core, 7);
    Budget budget(Budget::Clock::time_point::max(), 3e6);
    ++count;
    if (!search.findFirst(budget))
      return;
    search.improve(budget, least);
    EXPECT_TRUE(reduced.core.fits(search.plan()));
    EXPECT_EQ(reduced.core.costOf(search.plan()), search.cost());
    solved += search.cost() == least;
  });
  EXPECT_GE(solved, count * 9 / 10);
}

TEST(Elimination, CostsWhatItsPlanCosts) {
  Random random(8);
  for (int attempt = 0; attempt < 60; ++attempt) {
    Problem problem = randomProblem(Shape::Any, 4000, random);
    std::optional<Reduced> reduced = reduce(problem);
    if (!reduced || reduced->core.variables.empty())
      continue;
    const Core &core = reduced->core;
    std::vector<int32_t> all(core.variables.size());
    std::iota(all.begin(), all.end(), 0);
    // With small tables some variables are given.
    Elimination elimination(core, orderOf(core, all, attempt % 2 ? 1e9 : 30));
    std::vector<int32_t> plan(core.variables.size());
    double least = elimination.run(nullptr, plan);
    elimination.trace(plan);
    for (int32_t given : elimination.order().given)
      least += core.variables[given].cost[plan[given]];
    double among = 0;
    for (int32_t given : elimination.order().given)
      for (const Link &link : core.variables[given].links)
        if (link.other > given && std::count(elimination.order().given.begin(),
                                             elimination.order().given.end(), link.other))
          among += link.row(core.tables, plan[given],
                            core.variables[link.other].size())[plan[link.other]];
    EXPECT_EQ(core.offset + least + among, core.costOf(plan));
    if (elimination.order().given.empty()) {
      EXPECT_EQ(core.costOf(plan), leastOf(core));
    }
  }
}

} // namespace
