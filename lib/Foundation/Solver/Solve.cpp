// Proof and search by turns, until one ends or the budget does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Solver/Solve.h"

#include "BranchAndBound.h"
#include "Prover.h"
#include "Reduce.h"
#include "Search.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

using namespace weft::solver;

namespace {

/// A turn of proof and search takes this share of the budget.
constexpr double kTurn = 1.0 / 24;
/// If in a turn with proof more than this is left of the gap, the prover rests for some turns.
constexpr double kGain = 0.99;
constexpr int kRest = 3;
/// Tasks of a turn where the budget is work: the result must not depend on threads.
constexpr unsigned kTasks = 2;

class Solver {
public:
  Solver(const Problem &problem, const Options &options)
      : problem(problem), options(options), budget(makeBudget(options)) {}

  Solution solve();

private:
  static Budget makeBudget(const Options &options);
  void take(const std::vector<int32_t> &plan);
  void raise(double bound);
  void finish();

  void turn();
  bool isByTime() const { return options.seconds >= 0; }

  /// What runs beside others, on the best plan and the prices of the last turn.
  struct Task {
    Budget budget;
    std::function<void(Task &)> work;
    std::vector<std::vector<int32_t>> plans; // better ones, of the whole core
    bool isProven = false;
  };
  Task proof(double share);
  Task search(double share, size_t number);
  Task start(double share);
  void runTogether(std::vector<Task> &tasks);

  const Problem &problem;
  const Options &options;
  Budget budget;
  std::optional<Reduced> whole;
  std::unique_ptr<Prover> prover;
  std::unique_ptr<Search> first;
  std::vector<std::unique_ptr<Search>> searches;
  std::vector<int32_t> best; // of the whole core
  double bestCost = kInfinity;
  int resting = 0; // turns without a proof
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

void Solver::finish() {
  solution.isProven = true;
  solution.lowerBound = solution.cost;
}

Solver::Task Solver::proof(double share) {
  return {budget.slice(share),
          [this](Task &task) {
            task.isProven =
                prover->run(task.budget, bestCost,
                            [&](const std::vector<int32_t> &plan) { task.plans.push_back(plan); });
          },
          {}};
}

Solver::Task Solver::search(double share, size_t number) {
  while (searches.size() <= number)
    searches.push_back(
        std::make_unique<Search>(whole->core, options.seed + 7919 * (searches.size() + 1)));
  Search &self = *searches[number];
  self.restart(best);
  self.setPrices(prover->prices());
  return {budget.slice(share),
          [this, &self](Task &task) {
            self.improve(task.budget, double(solution.lowerBound));
            task.plans.push_back(self.plan());
          },
          {}};
}

Solver::Task Solver::start(double share) {
  if (!first) {
    first = std::make_unique<Search>(whole->core, options.seed);
    first->setPrices(prover->prices());
  }
  return {budget.slice(share),
          [this](Task &task) {
            if (first->findFirst(task.budget))
              task.plans.push_back(first->plan());
          },
          {}};
}

void Solver::runTogether(std::vector<Task> &tasks) {
  size_t threads = std::min<size_t>(std::max(1u, options.threads), tasks.size());
  auto work = [&](size_t from) {
    for (size_t index = from; index < tasks.size(); index += threads)
      tasks[index].work(tasks[index]);
  };
  std::vector<std::thread> others;
  for (size_t index = 1; index < threads; ++index)
    others.emplace_back(work, index);
  work(0);
  for (std::thread &other : others)
    other.join();
  for (Task &task : tasks) {
    budget.spend(task.budget.spent());
    for (const std::vector<int32_t> &plan : task.plans)
      take(plan);
  }
  raise(std::min(prover->bound(), bestCost));
  if (solution.isFeasible && solution.lowerBound >= solution.cost)
    finish();
  for (const Task &task : tasks)
    if (task.isProven)
      finish();
}

void Solver::turn() {
  bool hasPlan = bestCost < kInfinity;
  // A prover that gains little leaves most turns to the search.
  bool isStalled = prover->isStalled(bestCost) || (hasPlan && resting > 0);
  double gap = bestCost - prover->bound();
  unsigned count = isByTime() ? std::max(1u, options.threads) : kTasks;
  double share = kTurn * prover->patience();
  // Without a plan bounds exclude nothing.
  double ofProof = hasPlan ? 0.5 : 0.125;
  std::vector<Task> tasks;
  if (isByTime() && count == 1) {
    // One after the other: a task's time begins when it is made.
    if (!isStalled) {
      tasks.push_back(proof(share * ofProof));
      runTogether(tasks);
      tasks.clear();
    }
    if (!solution.isProven)
      tasks.push_back(hasPlan ? search(share / 2, 0) : start(share / 2));
  } else {
    // Threads share time, and divide work.
    if (!isStalled)
      tasks.push_back(proof(isByTime() ? share : share * ofProof));
    if (!hasPlan)
      tasks.push_back(start(isByTime() ? share : share * (1 - ofProof)));
    else
      for (size_t number = 0; tasks.size() < count; ++number)
        tasks.push_back(search(isByTime() ? share : share / count, number));
  }
  runTogether(tasks);
  if (isStalled)
    resting = std::max(0, resting - 1);
  else if (hasPlan && !(bestCost - prover->bound() < gap * kGain))
    resting = kRest;
}

Solution Solver::solve() {
  whole = reduce(problem);
  if (!whole) {
    finish();
    return solution;
  }
  prover = std::make_unique<Prover>(whole->core);
  raise(whole->core.offset);
  // Prices and plans come cheaply with the first bounds: searches wait for them.
  std::vector<Task> tasks;
  tasks.push_back(proof(kTurn / 2));
  runTogether(tasks);
  while (!solution.isProven && !budget.isSpent())
    turn();
  solution.work = budget.spent();
  return solution;
}

} // namespace

Solution weft::solver::solve(const Problem &problem, const Options &options) {
  return Solver(problem, options).solve();
}
