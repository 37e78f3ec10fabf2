// Proof and search by turns, until one ends or the budget does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Solver/Solve.h"

#include "BranchAndBound.h"
#include "Dual.h"
#include "Reduce.h"
#include "Search.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

using namespace weft::solver;

namespace {

/// Tables of this many entries are visited as a whole, again and again, when all is eliminated.
constexpr double kMostEntries = 4e6;
/// Searches at once where the budget is work: the result must not depend on threads.
constexpr unsigned kSearches = 2;

class Solver {
public:
  Solver(const Problem &problem, const Options &options)
      : problem(problem), options(options), budget(makeBudget(options)) {}

  Solution solve();

private:
  static Budget makeBudget(const Options &options);
  void take(const std::vector<int32_t> &plan);
  void raise(double bound);
  void finish(bool isProven);

  /// Whether it came to a proof.
  bool prove(Budget &part);
  bool close(Dual &dual, Budget &part);
  bool exclude(Dual &dual, Budget &part, bool &shrinks);
  bool findFirst(Budget &part);
  void search(Budget &part);

  /// A core of which some strategies were excluded, and the way back to the one before.
  const Core &narrowed() const { return narrow.empty() ? whole->core : narrow.back().core; }
  std::vector<int32_t> widen(std::vector<int32_t> plan) const {
    for (auto level = narrow.rbegin(); level != narrow.rend(); ++level)
      plan = level->lift(plan);
    return plan;
  }

  const Problem &problem;
  const Options &options;
  Budget budget;
  std::optional<Reduced> whole;
  std::vector<Reduced> narrow;
  std::unique_ptr<Dual> dual; // of `narrowed`
  std::unique_ptr<Search> first;
  std::vector<std::unique_ptr<Search>> searches;
  std::vector<double> prices; // of the whole core
  std::vector<int32_t> best;  // of the whole core
  double bestCost = kInfinity;
  Solution solution;
};

Budget Solver::makeBudget(const Options &options) {
  auto end = Budget::Clock::time_point::max();
  if (options.seconds >= 0)
    end = Budget::Clock::now() + std::chrono::duration_cast<Budget::Clock::duration>(
                                     std::chrono::duration<double>(options.seconds));
  double work = options.work >= 0 ? options.work : options.seconds >= 0 ? kInfinity : kUsualWork;
  return Budget(end, work);
}

/// Of a plan of the whole core that costs less than the best and fits.
void Solver::take(const std::vector<int32_t> &plan) {
  double cost = whole->core.costOf(plan);
  if (!(cost < bestCost) || !whole->core.fits(plan))
    return;
  best = plan;
  bestCost = cost;
  solution.isFeasible = true;
  solution.plan = whole->lift(plan);
  solution.cost = costOf(problem, solution.plan);
  solution.peak = peakOf(problem, solution.plan);
  if (options.progress)
    options.progress(solution);
}

void Solver::raise(double bound) {
  // Costs are whole and not negative.
  double whole = std::ceil(bound - roundingOf(this->whole->core, bound));
  if (!(whole > double(solution.lowerBound)))
    return;
  solution.lowerBound = whole >= double(solution.cost) ? solution.cost : int64_t(whole);
  if (options.progress)
    options.progress(solution);
}

void Solver::finish(bool isProven) {
  solution.isProven = isProven;
  if (isProven)
    solution.lowerBound = solution.cost;
}

bool Solver::close(Dual &dual, Budget &part) {
  const Core &core = narrowed();
  const Elimination &tables = dual.tables(part);
  return branchAndBound(core, tables, dual.bound(), bestCost, part,
                        [&](const std::vector<int32_t> &plan) {
                          bestCost = kInfinity;
                          take(widen(plan));
                        });
}

/// Whether no strategy is left that could be in a better plan.
bool Solver::exclude(Dual &dual, Budget &part, bool &shrinks) {
  const Core &core = narrowed();
  std::vector<std::vector<double>> excess = dual.excess(part);
  std::vector<std::vector<char>> keep(excess.size());
  size_t kept = 0, all = 0;
  for (size_t index = 0; index < excess.size(); ++index)
    for (double more : excess[index]) {
      double least = dual.bound() + more;
      keep[index].push_back(!(least > bestCost - 0.5 + roundingOf(core, least)));
      kept += keep[index].back();
      ++all;
    }
  shrinks = double(kept) < 0.97 * double(all);
  if (!shrinks)
    return false;
  std::optional<Reduced> next = reduce(core, keep);
  if (!next)
    return true;
  narrow.push_back(std::move(*next));
  this->dual.reset();
  return false;
}

bool Solver::prove(Budget &part) {
  for (bool shrinks = true; shrinks && !part.isSpent();) {
    const Core &core = narrowed();
    if (core.variables.empty()) {
      take(widen({}));
      return true;
    }
    if (!dual)
      dual = std::make_unique<Dual>(core, kMostEntries);
    // Half of what there is at most: the first step on a large problem could take all.
    Budget some = part.part(0.5);
    dual->run(some, bestCost, [&](const std::vector<int32_t> &plan) {
      if (core.costOf(plan) < bestCost && core.fits(plan))
        take(widen(plan));
    });
    part.spend(some.spent());
    if (narrow.empty())
      prices = dual->prices();
    raise(std::min(dual->bound(), bestCost));
    if (dual->bound() > bestCost - 0.5 + roundingOf(core, bestCost))
      return true;
    if (dual->isExact())
      return close(*dual, part);
    if (bestCost == kInfinity)
      return false;
    if (exclude(*dual, part, shrinks))
      return true;
  }
  return false;
}

bool Solver::findFirst(Budget &part) {
  if (!first) {
    first = std::make_unique<Search>(whole->core, options.seed);
    first->setPrices(prices);
  }
  bool found = first->findFirst(part);
  if (found)
    take(first->plan());
  return found;
}

void Solver::search(Budget &part) {
  unsigned count = options.seconds >= 0 ? std::max(1u, options.threads) : kSearches;
  while (searches.size() < count)
    searches.push_back(
        std::make_unique<Search>(whole->core, options.seed + 7919 * (searches.size() + 1)));
  std::vector<Budget> shares(count, part.part(options.seconds >= 0 ? 1 : 1.0 / count));
  auto work = [&](unsigned from) {
    for (unsigned index = from; index < count; index += std::max(1u, options.threads)) {
      searches[index]->restart(best);
      searches[index]->setPrices(prices);
      searches[index]->improve(shares[index], double(solution.lowerBound));
    }
  };
  std::vector<std::thread> others;
  for (unsigned index = 1; index < std::min(count, options.threads); ++index)
    others.emplace_back(work, index);
  work(0);
  for (std::thread &other : others)
    other.join();
  for (unsigned index = 0; index < count; ++index) {
    part.spend(shares[index].spent());
    take(searches[index]->plan());
  }
}

Solution Solver::solve() {
  whole = reduce(problem);
  if (!whole) {
    finish(true);
    return solution;
  }
  prices.assign(whole->core.room.size(), 0);
  raise(whole->core.offset);
  bool isProven = false;
  // Each turn is longer than the one before: early plans make proofs shorter.
  for (double share = 0.1; !isProven; share = std::min(1.0, share * 1.5)) {
    Budget proof = budget.part(share);
    isProven = prove(proof);
    budget.spend(proof.spent());
    if (isProven || budget.isSpent())
      break;
    Budget turn = budget.part(share);
    if (bestCost == kInfinity)
      findFirst(turn);
    else
      search(turn);
    budget.spend(turn.spent());
    if (solution.isFeasible && solution.lowerBound >= solution.cost)
      isProven = true;
  }
  finish(isProven);
  solution.work = budget.spent();
  return solution;
}

} // namespace

Solution weft::solver::solve(const Problem &problem, const Options &options) {
  return Solver(problem, options).solve();
}
