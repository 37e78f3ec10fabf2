// How long a search may go on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_BUDGET_H
#define WEFT_LIB_FOUNDATION_SOLVER_BUDGET_H

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft::solver {

/// Work is entries of tables visited. Whoever has a deadline does not depend on work, and the
/// other way round: then the same work gives the same result on every machine.
class Budget {
public:
  using Clock = std::chrono::steady_clock;
  Budget(Clock::time_point deadline, double mostWork)
      : begin(Clock::now()), deadline(deadline), mostWork(mostWork) {}

  void spend(double work) { spentWork += work; }
  double spent() const { return spentWork; }
  bool isSpent() const {
    return spentWork >= mostWork ||
           (deadline != Clock::time_point::max() && Clock::now() >= deadline);
  }
  /// A share of what there was in the beginning, from now on, as far as it is left; what it spends
  /// is not spent here.
  Budget slice(double share) const {
    Clock::time_point end = deadline;
    if (end != Clock::time_point::max())
      end = std::min(end, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             (deadline - begin) * share));
    return Budget(end, std::min(mostWork * share, mostWork - spentWork));
  }

private:
  Clock::time_point begin, deadline;
  double mostWork, spentWork = 0;
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_BUDGET_H
