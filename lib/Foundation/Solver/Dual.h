// Lower bounds: messages along edges, and prices for memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_DUAL_H
#define WEFT_LIB_FOUNDATION_SOLVER_DUAL_H

#include "Budget.h"
#include "Memory.h"

#include <functional>
#include <memory>

namespace weft::solver {

/// Costs moved from edges to the variables at their ends, so that the sum of least costs, of
/// variables and edges one at a time, is large: it is a lower bound for any messages.
/// Sequential tree-reweighted message passing (Kolmogorov 2006): in a pass each variable hands an
/// even share of what it has gathered to the neighbours that follow.
class Messages {
public:
  explicit Messages(const Core &core);

  /// Once forward and once backward; `prices` are added to the costs of strategies. Returns the
  /// bound, without `core.offset`, rounded down: no error of rounding makes it too large. `excess`
  /// takes for each strategy how much more than the bound before the pass a plan with it costs at
  /// least: on the way back the costs gathered at a variable are the least ones of all chains of
  /// variables through it.
  double pass(const Prices &prices, std::vector<std::vector<double>> *excess = nullptr);
  /// One strategy after the other: against those that are chosen, and messages of the others.
  void decode(const Prices &prices, std::vector<int32_t> &plan) const;

private:
  const double *from(int32_t variable, size_t link) const {
    return values.data() + starts[variable] + link * core.variables[variable].size();
  }
  double *from(int32_t variable, size_t link) {
    return values.data() + starts[variable] + link * core.variables[variable].size();
  }
  void gather(int32_t variable, const Prices &prices, std::vector<double> &sum) const;
  void send(int32_t variable, bool forward);

  const Core &core;
  std::vector<size_t> starts;               // by variable, of what it got: link by link
  std::vector<std::vector<int32_t>> mirror; // the same edge's place among the links of the other
  std::vector<double> values;
  std::vector<double> gathered, handed;
  double reached = 0, sizes = 0; // of the pass: the bound, and what its error is a share of
};

/// Raises a lower bound by prices for memory, by subgradients of what decoded plans use. Where all
/// variables can be eliminated within `mostEntries`, that takes the place of messages.
class Dual {
public:
  Dual(const Core &core, double mostEntries);

  /// Stops where steps bring no more, or the bound comes to `target`, a cost that is known to be
  /// reached and falls when `met`, which gets each plan that was met, finds it better.
  void run(Budget &budget, const double &target,
           const std::function<void(const std::vector<int32_t> &)> &met);

  /// With `core.offset`.
  double bound() const { return bestBound; }
  const std::vector<double> &prices() const { return bestPrice; }
  /// Prices to begin with, near the best ones: the first steps are shorter then.
  void setPrices(const std::vector<double> &perByte);
  /// Whether steps bring no more.
  bool isDone() const { return stepFactor <= kLeastStep; }
  /// Where all variables can be eliminated: the tables at the best prices, for branch and bound.
  bool isExact() const { return exact != nullptr; }
  const Elimination &tables(Budget &budget);
  /// By strategy: a plan that has it costs more than `bound` by at least that. Nothing where all is
  /// eliminated.
  std::vector<std::vector<double>> excess(Budget &budget);

private:
  bool step(double gap, const std::vector<int32_t> &plan);
  double evaluate(std::vector<int32_t> &plan, Budget &budget);
  void priceStrategies();

  const Core &core;
  Messages messages;
  std::unique_ptr<Elimination> exact;
  SlotPrices slots;
  Prices strategyPrices;
  std::vector<double> bestPrice, direction;
  double bestBound = -kInfinity, stepFactor = 1;
  double cycleBound = -kInfinity; // at the begin of a run from long steps to short ones
  int since = 0;                  // evaluations without a better bound
  static constexpr double kLeastStep = 1e-4;
  int settling = 0;   // so many times more messages are passed at the same prices
  double entries = 0; // work of one evaluation
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_DUAL_H
