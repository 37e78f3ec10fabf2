// Finds a cheap plan of a problem, and says how much cheaper one could be.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SOLVER_SOLVE_H
#define WEFT_SOLVER_SOLVE_H

#include "weft/Solver/Problem.h"

#include <functional>

namespace weft::solver {

struct Solution;

struct Options {
  /// Seconds from the call on; negative: no deadline. What is found then depends on the machine.
  double seconds = -1;
  /// Entries of tables visited at most; negative: no such limit. The same work gives the same
  /// solution for any number of threads and on any machine. Without a deadline and without this:
  /// `kUsualWork`.
  double work = -1;
  unsigned threads = 1;
  uint64_t seed = 1;
  /// Hears of each better plan and of each better bound.
  std::function<void(const Solution &)> progress;
};

/// A few seconds on one core.
constexpr double kUsualWork = 4e9;

struct Solution {
  /// Whether there is a plan; if there is not and `isProven`, none exists.
  bool isFeasible = false;
  /// Whether `cost` is the least there is.
  bool isProven = false;
  Plan plan;
  int64_t cost = kForbidden;
  int64_t peak = 0;
  /// No plan within the limit costs less. `kForbidden`, if none exists.
  int64_t lowerBound = 0;
  double work = 0;
};

/// `problem` must be one that `check` finds nothing wrong with.
///
/// Reductions that keep an optimum, which leave little of the graphs of models; a lower bound by
/// messages and prices for memory (Lagrange), or by exact elimination where its tables are small;
/// strategies that cannot be in a better plan are excluded by it, which reduces further. Where all
/// can be eliminated in the end, branch and bound closes the gap that prices leave. Else local
/// search goes on with blocks that are solved exactly.
Solution solve(const Problem &problem, const Options &options);

} // namespace weft::solver

#endif // WEFT_SOLVER_SOLVE_H
