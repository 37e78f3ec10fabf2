// Bounds and exclusions by turns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Prover.h"

#include "BranchAndBound.h"

#include <algorithm>

using namespace weft::solver;

namespace {
/// Tables of so many entries are visited as a whole, again and again, when all is eliminated.
constexpr double kMostEntries = 4e6;
/// And of so many, where messages come no further.
constexpr double kManyEntries = 4e7;
/// So much must stay of the strategies for another turn to be worth nothing.
constexpr double kMuch = 0.97;
} // namespace

std::vector<int32_t> Prover::widened(std::vector<int32_t> plan) const {
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    plan = level->lift(plan);
  return plan;
}

void Prover::start() {
  dual = std::make_unique<Dual>(core(), triesMany ? kManyEntries : kMostEntries);
  std::vector<double> prices = sentPrices;
  for (const Reduced &level : levels) {
    std::vector<double> next;
    for (int32_t slot : level.slots)
      next.push_back(prices[slot]);
    prices = std::move(next);
  }
  dual->setPrices(prices);
}

void Prover::keepPrices() {
  std::vector<double> prices = dual->prices();
  for (size_t index = levels.size(); index-- > 0;) {
    size_t count = index ? levels[index - 1].core.room.size() : whole.room.size();
    std::vector<double> wider(count);
    for (size_t slot = 0; slot < prices.size(); ++slot)
      wider[levels[index].slots[slot]] = prices[slot];
    prices = std::move(wider);
  }
  sentPrices = std::move(prices);
}

bool Prover::close(Budget &budget, double &best,
                   const std::function<void(const std::vector<int32_t> &)> &found) {
  const Elimination &tables = dual->tables(budget);
  bool isProven = branchAndBound(core(), tables, dual->bound(), best, budget,
                                 [&](const std::vector<int32_t> &plan) { found(widened(plan)); });
  if (!isProven)
    patienceNow = std::min(8.0, 2 * patienceNow);
  return isProven;
}

bool Prover::exclude(Budget &budget, double best, bool &shrinks) {
  std::vector<std::vector<double>> excess = dual->excess(budget);
  std::vector<std::vector<char>> keep(excess.size());
  size_t kept = 0, all = 0;
  for (size_t index = 0; index < excess.size(); ++index)
    for (double more : excess[index]) {
      double least = dual->bound() + more;
      keep[index].push_back(!(least > best - 0.5 + roundingOf(core(), least)));
      kept += keep[index].back();
      ++all;
    }
  shrinks = double(kept) < kMuch * double(all);
  if (!shrinks)
    return false;
  std::optional<Reduced> next = reduce(core(), keep);
  if (!next)
    return true;
  levels.push_back(std::move(*next));
  dual.reset();
  return false;
}

bool Prover::run(Budget &budget, double best,
                 const std::function<void(const std::vector<int32_t> &)> &found) {
  while (!budget.isSpent() || !isTried) {
    isTried = true;
    if (core().variables.empty()) {
      // One plan is left, or none that is better.
      std::vector<int32_t> plan = widened({});
      if (whole.costOf(plan) < best && whole.fits(plan))
        found(plan);
      return true;
    }
    if (!dual)
      start();
    // Elimination: half for better prices, half for branch and bound with those there are.
    Budget some = budget.slice(dual->isExact() ? 0.5 : 1);
    dual->run(some, best, [&](const std::vector<int32_t> &plan) {
      double cost = core().costOf(plan);
      if (!(cost < best) || !core().fits(plan))
        return;
      best = cost;
      found(widened(plan));
    });
    budget.spend(some.spent());
    keepPrices();
    bestBound = std::max(bestBound, std::min(dual->bound(), best));
    if (dual->bound() > best - 0.5 + roundingOf(core(), best))
      return true;
    bool isDone = dual->isDone();
    if (dual->isExact())
      return close(budget, best, found);
    if (best == kInfinity) {
      if (isDone)
        stalledAt = best;
      return false;
    }
    bool shrinks = false;
    if (exclude(budget, best, shrinks))
      return true;
    if (shrinks || !isDone)
      continue;
    if (!triesMany) {
      triesMany = true;
      start();
    }
    if (!dual->isExact()) {
      stalledAt = best;
      return false;
    }
  }
  return false;
}
