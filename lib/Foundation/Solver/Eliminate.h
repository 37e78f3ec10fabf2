// Exact elimination of variables, one after the other, where tables stay small.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_ELIMINATE_H
#define WEFT_LIB_FOUNDATION_SOLVER_ELIMINATE_H

#include "Core.h"
#include "Random.h"

namespace weft::solver {

/// What is added to the cost of each strategy of each variable; by variable of the core.
using Prices = std::vector<std::vector<double>>;

/// An order in which some variables of a core can be eliminated, the others being given.
struct EliminationOrder {
  std::vector<int32_t> order;
  /// Those of the wanted that are given, too, because tables would become too large.
  std::vector<int32_t> given;
  double entries = 0; // of all tables that are visited: the work of one pass
};

/// Greedy by the size of the table which the next elimination visits. Where that is above
/// `mostEntries` the variable with the largest share in it is given, weighed by chance where there
/// is `random`.
EliminationOrder orderOf(const Core &core, const std::vector<int32_t> &wanted, double mostEntries,
                         Random *random = nullptr);

/// Buckets of one order, with their tables. For a variable v and the neighbours S that are
/// eliminated after it (its scope) the table has
///   m_v(S) = min over strategies of v of (cost + prices + edges to S + tables m_u with v in them)
/// so that the sum of those with empty scope is the least cost.
class Elimination {
public:
  Elimination(const Core &core, EliminationOrder order);

  const EliminationOrder &order() const { return chosen; }

  /// Fills the tables and returns the least cost of the eliminated variables, of the edges among
  /// them and to those that are not: these are as in `plan`.
  double run(const Prices *prices, const std::vector<int32_t> &plan);
  /// Behind `run`: the strategies that reach it, into `plan`; of equal ones the first.
  void trace(std::vector<int32_t> &plan) const;
  /// Behind `run`: for each strategy of the variable at `position` the least cost of it and all
  /// that was eliminated before it, given in `plan` the strategies of its scope.
  void costsAt(size_t position, const std::vector<int32_t> &plan, std::vector<double> &costs) const;

private:
  struct Factor {
    const double *values = nullptr; // of an edge
    int32_t message = -1;           // or a bucket's table
    std::vector<int64_t> stride;    // by level of the scope; along the variable it is 1
    size_t level = 0;               // the innermost one it depends on, counted from 1; 0: none
  };
  struct Bucket {
    int32_t variable = 0;
    std::vector<int32_t> scope; // level by level: the last is eliminated first
    std::vector<int32_t> sizes; // of the scope
    std::vector<Factor> factors;
    size_t table = 0, entries = 1; // where it lies in `values`
  };

  const double *start(const Factor &factor) const {
    return factor.message < 0 ? factor.values : values.data() + buckets[factor.message].table;
  }
  void fill(const Bucket &bucket);
  void fillLevel(const Bucket &bucket, size_t level, std::vector<const double *> &at, double *&out);
  void addUnary(const Prices *prices, const std::vector<int32_t> &plan);

  const Core &core;
  EliminationOrder chosen;
  std::vector<Bucket> buckets;
  std::vector<int32_t> position; // by variable; -1: not eliminated
  std::vector<double> values;    // tables
  std::vector<std::vector<double>> unary, partial;
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_ELIMINATE_H
