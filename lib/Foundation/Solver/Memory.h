// Memory of a plan of a core over its slots, and prices for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_MEMORY_H
#define WEFT_LIB_FOUNDATION_SOLVER_MEMORY_H

#include "Eliminate.h"

namespace weft::solver {

/// What a plan leaves of the room in each slot; negative where it does not fit.
std::vector<int64_t> leftBy(const Core &core, const std::vector<int32_t> &plan);

/// `left` when the strategies of `variables` change from those in `from` to those in `to`.
void changeLeft(const Core &core, const std::vector<int32_t> &variables,
                const std::vector<int32_t> &from, const std::vector<int32_t> &to,
                std::vector<int64_t> &left);

/// The sum of what slots are short of.
double shortOf(const std::vector<int64_t> &left);

/// A price per byte in each slot, for what each strategy uses.
class SlotPrices {
public:
  explicit SlotPrices(const Core &core) : core(core), price(core.room.size()) { sum(); }

  /// Changed in place; then `sum()`.
  std::vector<double> &perByte() { return price; }
  const std::vector<double> &perByte() const { return price; }
  void sum();
  /// What is paid for all the room there is: the least priced cost less this is a lower bound.
  double ofRoom() const;
  /// Prices of the strategies of a variable.
  void of(int32_t variable, std::vector<double> &prices) const;

private:
  const Core &core;
  std::vector<double> price, before; // before[i]: the sum of those below i
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_MEMORY_H
