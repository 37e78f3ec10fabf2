// Reductions that keep an optimum, and the way back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_REDUCE_H
#define WEFT_LIB_FOUNDATION_SOLVER_REDUCE_H

#include "Core.h"
#include "weft/Solver/Problem.h"

#include <optional>

namespace weft::solver {

/// How a variable that is gone takes its strategy from variables that were there after it: the
/// strategy of `variable` is `strategies[x * sizeOfSecond + y]`, where x and y are those of
/// `first` and `second`, 0 for one that is not there (-1).
struct Replaced {
  int32_t variable = 0, first = -1, second = -1;
  int32_t sizeOfSecond = 1;
  std::vector<int32_t> strategies;
};

struct Reduced {
  Core core;
  /// By variable of the core: the original variable, and its strategies.
  std::vector<int32_t> variable;
  std::vector<std::vector<int32_t>> strategies;
  std::vector<Replaced> replaced; // in the order in which they went
  std::vector<int32_t> slots;     // by slot of the core: which it was before
  size_t original = 0;

  Plan lift(const std::vector<int32_t> &plan) const;
};

/// Removes what no optimum needs, until nothing changes:
/// - strategies without a partner on an edge, or that no memory is left for;
/// - strategies that another one is never worse than, whatever the neighbours do and in memory
///   (Goldstein's criterion for dead ends);
/// - variables that have one strategy, or follow from a neighbour's because every strategy of that
///   leaves one; variables of degree 1 and 2 whose memory never binds;
/// - times at which memory cannot bind, or binds only when it does at another.
/// Nothing, if no plan is left.
std::optional<Reduced> reduce(const Problem &problem);

/// The same for a core of which strategies are excluded (`keep[variable][strategy]` false); the
/// result lifts to strategies of the core.
std::optional<Reduced> reduce(const Core &core, const std::vector<std::vector<char>> &keep);

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_REDUCE_H
