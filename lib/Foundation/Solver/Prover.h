// Bounds, and what they exclude, until nothing better is left.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_PROVER_H
#define WEFT_LIB_FOUNDATION_SOLVER_PROVER_H

#include "Dual.h"
#include "Reduce.h"

namespace weft::solver {

/// Narrows a core down: a bound excludes strategies that no better plan has, which reduces, which
/// raises the bound. Where all variables can be eliminated, branch and bound ends it.
class Prover {
public:
  explicit Prover(const Core &core) : whole(core), sentPrices(core.room.size()) {}

  /// Goes on, given the cost of the best plan that is known. `found` gets plans of the core that
  /// fit, each better than the one before. Whether it is proven that no other is better.
  bool run(Budget &budget, double best,
           const std::function<void(const std::vector<int32_t> &)> &found);

  /// Of all plans but those that are not better than the best one.
  double bound() const { return bestBound; }
  /// Prices of memory at the best bound, by slot of the core.
  const std::vector<double> &prices() const { return sentPrices; }
  /// Whether it would come no further with a plan of this cost.
  bool isStalled(double best) const { return best >= stalledAt; }
  /// How many times longer a run should be: branch and bound begins anew in each.
  double patience() const { return patienceNow; }

private:
  const Core &core() const { return levels.empty() ? whole : levels.back().core; }
  std::vector<int32_t> widened(std::vector<int32_t> plan) const;
  void start();
  void keepPrices();
  bool close(Budget &budget, double &best,
             const std::function<void(const std::vector<int32_t> &)> &found);
  /// Whether nothing is left. `shrinks`: whether enough is gone to begin anew.
  bool exclude(Budget &budget, double best, bool &shrinks);

  const Core &whole;
  std::vector<Reduced> levels;
  std::unique_ptr<Dual> dual; // of `core()`
  std::vector<double> sentPrices;
  double bestBound = -kInfinity, stalledAt = kInfinity;
  double patienceNow = 1;
  bool isTried = false, triesMany = false;
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_PROVER_H
