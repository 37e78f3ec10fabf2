// Random problems, and their cheapest plans by trying all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_FOUNDATION_SOLVER_BRUTEFORCE_H
#define WEFT_TEST_UNIT_LIB_FOUNDATION_SOLVER_BRUTEFORCE_H

#include "Random.h"
#include "weft/Solver/Problem.h"

namespace weft::solver {

enum class Shape { Chain, Tree, Zipped, Any };

/// A problem with at most about `plans` plans. Strategies are tuples over one to three mesh axes:
/// a pair of them costs more the more axes differ, some pairs are forbidden. `Zipped`: blocks of a
/// forward, a backward and an update variable in a row. `Any`: a chain with edges across.
Problem randomProblem(Shape shape, double plans, Random &random);

/// Of all plans that are not forbidden.
struct Extremes {
  int64_t leastPeak = INT64_MAX;
  int64_t leastCost = kForbidden, peakOfCheapest = 0; // whatever its memory
  int64_t leastFitting = kForbidden;                  // within the limit
};
Extremes tryAll(const Problem &problem);

} // namespace weft::solver

#endif // WEFT_TEST_UNIT_LIB_FOUNDATION_SOLVER_BRUTEFORCE_H
