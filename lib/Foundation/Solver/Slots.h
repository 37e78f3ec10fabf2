// Times at which memory can bind.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_SLOTS_H
#define WEFT_LIB_FOUNDATION_SOLVER_SLOTS_H

#include "Core.h"
#include "weft/Solver/Problem.h"

namespace weft::solver {

/// The uses of each variable, over slots between times at which one begins or ends; `room` is the
/// limit in each. Nothing where there is no limit.
std::vector<std::vector<CoreUse>> slotsOf(const Problem &problem, std::vector<int64_t> &room);

/// Where slots go that are merged: those that bind only if another does.
struct SlotMap {
  /// By old slot: the first new one at or behind it, and the last at or before it.
  std::vector<int32_t> next, last;
  std::vector<int32_t> kept; // by new slot, the old one
  std::vector<int64_t> room;
};

/// A slot is left out if whatever is chosen fits, and if what fits in a slot near it fits in it:
/// by no plan does its use exceed that slot's by more than its room does.
SlotMap mergedSlots(const std::vector<CoreVariable> &variables, const std::vector<int64_t> &room);

/// The least value of a range, in constant time.
class RangeLeast {
public:
  RangeLeast() = default;
  explicit RangeLeast(const std::vector<int64_t> &values);
  /// Of `first`..`last`, both included.
  int64_t least(int32_t first, int32_t last) const;

private:
  std::vector<std::vector<int64_t>> levels; // [k][i]: of i .. i + 2^k - 1
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_SLOTS_H
