// The search that ends with a proof.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_BRANCHANDBOUND_H
#define WEFT_LIB_FOUNDATION_SOLVER_BRANCHANDBOUND_H

#include "Budget.h"
#include "Memory.h"

#include <functional>

namespace weft::solver {

/// Goes through the plans of a core whose variables are all eliminated, behind `run`, in the order
/// of what they cost with prices for memory, the last eliminated first; without memory nothing is
/// tried twice. `least` is the bound that `run` gave, with `core.offset`, less what room costs.
/// Each plan that costs less than `best`, which it then lowers, goes to `found`. Whether it came to
/// an end, so that no other plan costs less, before the budget was spent.
bool branchAndBound(const Core &core, const Elimination &elimination, double least, double &best,
                    Budget &budget, const std::function<void(const std::vector<int32_t> &)> &found);

/// Costs are whole: a plan is better if it costs less by 1. This is what a sum may be off by.
inline double roundingOf(const Core &core, double sum) {
  return (sum < 0 ? -sum : sum) * double(core.variables.size() + 64) * 0x1p-50;
}

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_BRANCHANDBOUND_H
