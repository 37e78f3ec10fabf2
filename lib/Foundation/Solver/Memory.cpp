// Memory by slots: differences at the ends of uses, summed up.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"

using namespace weft::solver;

namespace {

void addUses(const CoreVariable &variable, int32_t strategy, int64_t sign,
             std::vector<int64_t> &change) {
  for (const CoreUse &use : variable.uses) {
    change[use.first] += sign * use.amount[strategy];
    change[use.last + 1] -= sign * use.amount[strategy];
  }
}

} // namespace

std::vector<int64_t> weft::solver::leftBy(const Core &core, const std::vector<int32_t> &plan) {
  std::vector<int64_t> change(core.room.size() + 1), left = core.room;
  for (size_t index = 0; index < core.variables.size(); ++index)
    addUses(core.variables[index], plan[index], 1, change);
  int64_t now = 0;
  for (size_t slot = 0; slot < left.size(); ++slot)
    left[slot] -= now += change[slot];
  return left;
}

void weft::solver::changeLeft(const Core &core, const std::vector<int32_t> &variables,
                              const std::vector<int32_t> &from, const std::vector<int32_t> &to,
                              std::vector<int64_t> &left) {
  std::vector<int64_t> change(left.size() + 1);
  for (int32_t variable : variables)
    if (from[variable] != to[variable]) {
      addUses(core.variables[variable], from[variable], -1, change);
      addUses(core.variables[variable], to[variable], 1, change);
    }
  int64_t now = 0;
  for (size_t slot = 0; slot < left.size(); ++slot)
    left[slot] -= now += change[slot];
}

double weft::solver::shortOf(const std::vector<int64_t> &left) {
  double sum = 0;
  for (int64_t bytes : left)
    if (bytes < 0)
      sum -= double(bytes);
  return sum;
}

void SlotPrices::sum() {
  before.assign(price.size() + 1, 0);
  for (size_t slot = 0; slot < price.size(); ++slot)
    before[slot + 1] = before[slot] + price[slot];
}

double SlotPrices::ofRoom() const {
  double paid = 0;
  for (size_t slot = 0; slot < price.size(); ++slot)
    paid += price[slot] * double(core.room[slot]);
  return paid;
}

void SlotPrices::of(int32_t variable, std::vector<double> &prices) const {
  const CoreVariable &self = core.variables[variable];
  prices.assign(self.size(), 0);
  for (const CoreUse &use : self.uses) {
    double paid = before[use.last + 1] - before[use.first];
    if (paid > 0)
      for (int32_t strategy = 0; strategy < self.size(); ++strategy)
        prices[strategy] += paid * double(use.amount[strategy]);
  }
}
