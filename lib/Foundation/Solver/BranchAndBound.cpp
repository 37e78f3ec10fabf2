// Depth first, the cheapest strategy first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BranchAndBound.h"

#include <algorithm>
#include <numeric>

using namespace weft::solver;

namespace {

class Tree {
public:
  Tree(const Core &core, const Elimination &elimination, double &best, Budget &budget,
       const std::function<void(const std::vector<int32_t> &)> &found)
      : core(core), elimination(elimination), best(best), budget(budget), found(found),
        plan(core.variables.size()), left(core.room), costs(core.variables.size()),
        ranks(core.variables.size()) {}

  /// `place` variables are still to be chosen, and cost `bound` at least with those that are.
  bool descend(size_t place, double bound) {
    if (place == 0)
      return reach();
    size_t self = place - 1;
    int32_t variable = elimination.order().order[self];
    std::vector<double> &mine = costs[self];
    elimination.costsAt(self, plan, mine);
    std::vector<int32_t> &rank = ranks[self];
    rank.resize(mine.size());
    std::iota(rank.begin(), rank.end(), 0);
    std::sort(rank.begin(), rank.end(), [&](int32_t one, int32_t other) {
      return std::pair(mine[one], one) < std::pair(mine[other], other);
    });
    budget.spend(double(mine.size()) * 4);
    double least = mine[rank[0]];
    for (int32_t strategy : rank) {
      double reached = bound + mine[strategy] - least;
      if (!(reached <= best - 0.5 + roundingOf(core, reached)))
        return true;
      if (++steps % 1024 == 0 && budget.isSpent())
        return false;
      plan[variable] = strategy;
      bool goesOn = !use(variable, strategy, 1) || descend(self, reached);
      use(variable, strategy, -1);
      if (!goesOn)
        return false;
    }
    return true;
  }

private:
  /// Whether it still fits.
  bool use(int32_t variable, int32_t strategy, int64_t sign) {
    bool fits = true;
    for (const CoreUse &use : core.variables[variable].uses) {
      int64_t bytes = sign * use.amount[strategy];
      if (!bytes)
        continue;
      budget.spend(double(use.last - use.first) + 1);
      for (int32_t slot = use.first; slot <= use.last; ++slot)
        fits &= (left[slot] -= bytes) >= 0;
    }
    return fits;
  }

  bool reach() {
    double cost = core.costOf(plan);
    if (cost < best) {
      best = cost;
      found(plan);
    }
    return true;
  }

  const Core &core;
  const Elimination &elimination;
  double &best;
  Budget &budget;
  const std::function<void(const std::vector<int32_t> &)> &found;
  std::vector<int32_t> plan;
  std::vector<int64_t> left;
  std::vector<std::vector<double>> costs;
  std::vector<std::vector<int32_t>> ranks;
  uint64_t steps = 0;
};

} // namespace

bool weft::solver::branchAndBound(const Core &core, const Elimination &elimination, double least,
                                  double &best, Budget &budget,
                                  const std::function<void(const std::vector<int32_t> &)> &found) {
  Tree tree(core, elimination, best, budget, found);
  return tree.descend(elimination.order().order.size(), least);
}
