// What is left of a problem when it was reduced, in the form that searches use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_CORE_H
#define WEFT_LIB_FOUNDATION_SOLVER_CORE_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace weft::solver {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Costs of pairs, both ways round, so that what is summed over lies together.
struct Table {
  int32_t rows = 0, columns = 0;
  std::vector<double> byRow, byColumn;
};

/// Tables by content: repeated layers share them.
class TableSet {
public:
  int32_t intern(int32_t rows, int32_t columns, std::vector<double> values);
  const Table &operator[](int32_t index) const { return tables[index]; }

private:
  std::vector<Table> tables;
  std::unordered_multimap<uint64_t, int32_t> byHash;
};

/// One end of an edge. `flipped`: the variable that has this link chooses the column.
struct Link {
  int32_t other = 0, table = 0;
  bool flipped = false;

  /// Costs against each strategy of `other`, `strategies` many, for a strategy of this end.
  const double *row(const TableSet &tables, int32_t strategy, int32_t strategies) const {
    const Table &all = tables[table];
    return (flipped ? all.byColumn : all.byRow).data() + size_t(strategy) * strategies;
  }
};

/// Memory in the slots first..last, both included; the least amount is 0.
struct CoreUse {
  int32_t first = 0, last = 0;
  std::vector<int64_t> amount;
};

struct CoreVariable {
  std::vector<double> cost;
  std::vector<CoreUse> uses;
  std::vector<Link> links; // at most one to each other variable
  int32_t size() const { return int32_t(cost.size()); }
};

/// Slots stand for those times at which memory could bind; `room` is what is left for the amounts
/// of uses in each. The cost of a plan is `offset` and the costs of variables and tables.
struct Core {
  std::vector<CoreVariable> variables;
  TableSet tables;
  std::vector<int64_t> room;
  double offset = 0;

  double costOf(const std::vector<int32_t> &plan) const;
  bool fits(const std::vector<int32_t> &plan) const;
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_CORE_H
