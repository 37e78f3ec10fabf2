// Times at which memory can bind: a slot stands for a stretch of time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Slots.h"

#include <algorithm>

using namespace weft::solver;

std::vector<std::vector<CoreUse>> weft::solver::slotsOf(const Problem &problem,
                                                        std::vector<int64_t> &room) {
  std::vector<std::vector<CoreUse>> result(problem.variables.size());
  room.clear();
  if (!problem.limit)
    return result;
  std::vector<int64_t> times;
  for (const Variable &variable : problem.variables)
    for (const Use &use : variable.uses)
      if (use.begin < use.end)
        times.insert(times.end(), {use.begin, use.end});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto slotOf = [&](int64_t time) {
    return int32_t(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  for (size_t index = 0; index < result.size(); ++index)
    for (const Use &use : problem.variables[index].uses)
      if (use.begin < use.end)
        result[index].push_back({slotOf(use.begin), slotOf(use.end) - 1, use.amount});
  room.assign(times.size() < 2 ? 0 : times.size() - 1, *problem.limit);
  return result;
}

namespace {

/// What variables use in a slot, and by how much that differs from the last slot that is kept.
class Sweep {
public:
  explicit Sweep(const std::vector<CoreVariable> &variables)
      : now(variables.size()), kept(variables.size()), isTouched(variables.size()) {
    for (size_t index = 0; index < variables.size(); ++index)
      now[index].assign(variables[index].cost.size(), 0);
  }

  void add(int32_t variable, const std::vector<int64_t> &amount, int64_t sign) {
    std::vector<int64_t> &mine = now[variable];
    if (!isTouched[variable]) {
      isTouched[variable] = true;
      touched.push_back(variable);
      kept[variable] = mine;
    } else {
      count(variable, -1);
    }
    most -= *std::max_element(mine.begin(), mine.end());
    for (size_t strategy = 0; strategy < mine.size(); ++strategy)
      mine[strategy] += sign * amount[strategy];
    most += *std::max_element(mine.begin(), mine.end());
    count(variable, 1);
  }
  /// The slot reached is kept: differences are from here on.
  void keep() {
    for (int32_t variable : touched)
      isTouched[variable] = false;
    touched.clear();
    largest = least = 0;
  }
  int64_t most = 0;               // that all variables can use in the slot reached
  int64_t largest = 0, least = 0; // by which a plan's use of it can exceed that of the one kept

private:
  void count(int32_t variable, int64_t sign) {
    int64_t high = INT64_MIN, low = INT64_MAX;
    for (size_t strategy = 0; strategy < now[variable].size(); ++strategy) {
      int64_t difference = now[variable][strategy] - kept[variable][strategy];
      high = std::max(high, difference);
      low = std::min(low, difference);
    }
    largest += sign * high;
    least += sign * low;
  }

  std::vector<std::vector<int64_t>> now, kept;
  std::vector<char> isTouched;
  std::vector<int32_t> touched;
};

std::vector<int32_t> keptSlots(const std::vector<CoreVariable> &variables,
                               const std::vector<int64_t> &room) {
  using At = std::vector<std::pair<int32_t, const CoreUse *>>;
  std::vector<At> begins(room.size()), ends(room.size());
  for (size_t index = 0; index < variables.size(); ++index)
    for (const CoreUse &use : variables[index].uses) {
      begins[use.first].push_back({int32_t(index), &use});
      ends[use.last].push_back({int32_t(index), &use});
    }
  Sweep sweep(variables);
  std::vector<int32_t> kept;
  for (int32_t slot = 0; slot < int32_t(room.size()); ++slot) {
    if (slot)
      for (const auto &[variable, use] : ends[slot - 1])
        sweep.add(variable, use->amount, -1);
    for (const auto &[variable, use] : begins[slot])
      sweep.add(variable, use->amount, 1);
    // A slot with too little room for nothing at all is kept: it says that there is no plan.
    if (sweep.most <= room[slot] && room[slot] >= 0)
      continue;
    if (!kept.empty() && sweep.largest <= room[slot] - room[kept.back()])
      continue;
    if (!kept.empty() && -sweep.least <= room[kept.back()] - room[slot])
      kept.pop_back();
    kept.push_back(slot);
    sweep.keep();
  }
  return kept;
}

} // namespace

SlotMap weft::solver::mergedSlots(const std::vector<CoreVariable> &variables,
                                  const std::vector<int64_t> &room) {
  int32_t count = int32_t(room.size());
  SlotMap map;
  map.kept = keptSlots(variables, room);
  for (int32_t slot = 0, at = 0; slot < count; ++slot) {
    map.next.push_back(at);
    bool isKept = size_t(at) < map.kept.size() && map.kept[at] == slot;
    map.last.push_back(isKept ? at : at - 1);
    if (isKept) {
      map.room.push_back(room[slot]);
      ++at;
    }
  }
  return map;
}

RangeLeast::RangeLeast(const std::vector<int64_t> &values) {
  levels.push_back(values);
  for (size_t width = 1; 2 * width <= values.size(); width *= 2) {
    std::vector<int64_t> next(values.size() - 2 * width + 1);
    for (size_t index = 0; index < next.size(); ++index)
      next[index] = std::min(levels.back()[index], levels.back()[index + width]);
    levels.push_back(std::move(next));
  }
}

int64_t RangeLeast::least(int32_t first, int32_t last) const {
  uint32_t width = uint32_t(last - first) + 1;
  int32_t level = 31 - __builtin_clz(width);
  return std::min(levels[level][first], levels[level][last + 1 - (1 << level)]);
}
