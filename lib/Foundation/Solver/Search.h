// Local search by blocks: many variables at once, exactly, the others as they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_SEARCH_H
#define WEFT_LIB_FOUNDATION_SOLVER_SEARCH_H

#include "Budget.h"
#include "Memory.h"

namespace weft::solver {

/// Keeps a plan and makes it better. A move frees a block of variables - all, those near one or
/// more of them, a stretch of the program - fixes those of them whose elimination would take too
/// large tables, and solves the rest exactly, with prices for memory that rise until it fits.
class Search {
public:
  Search(const Core &core, uint64_t seed);

  /// Looks for a plan that is not forbidden and fits; false, if the budget ends before.
  bool findFirst(Budget &budget);
  /// Makes the plan better until the budget is spent, or `stop` is reached.
  void improve(Budget &budget, double stop);

  const std::vector<int32_t> &plan() const { return best; }
  double cost() const { return bestCost; }
  /// Goes on from a plan that fits.
  void restart(const std::vector<int32_t> &plan);
  /// Prices from which moves start.
  void setPrices(const std::vector<double> &perByte);

private:
  /// A way to choose blocks, and what came of it.
  struct Arm {
    int kind;
    int32_t size;
    double mostEntries;
    double merit = 0; // gain per work, of late
  };
  size_t pickArm();
  std::vector<int32_t> blockOf(const Arm &arm);
  void growBlock(std::vector<int32_t> &block, size_t size);
  bool move(const Arm &arm, Budget &budget);
  bool tryPrices(Elimination &elimination, SlotPrices &slots, Budget &budget);
  void pricesOf(const std::vector<int32_t> &variables, const SlotPrices &slots, double noise);
  double costAround(const std::vector<int32_t> &variables, const std::vector<int32_t> &of) const;
  bool sweep(const Core &soft, double factor, Budget &budget);

  const Core &core;
  Random random;
  std::vector<int32_t> current, best, candidate;
  double currentCost = kInfinity, bestCost = kInfinity;
  std::vector<int64_t> left; // by `current`
  SlotPrices base;
  Prices prices;
  std::vector<Arm> arms;
  std::vector<char> inBlock;
  mutable std::vector<char> isMember;
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_SEARCH_H
