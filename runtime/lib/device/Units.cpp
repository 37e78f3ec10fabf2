// Deals a machine's devices out to its ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/Units.h"

#include <algorithm>
#include <map>
#include <set>

using namespace weft::runtime;

UnitShare weft::runtime::shareUnits(const std::vector<uint64_t> &hosts,
                                    const std::vector<UnitReport> &reports, int64_t rank) {
  using List = std::vector<uint64_t>;
  std::map<List, size_t> turns; // of ranks that see this list
  std::set<uint64_t> seen;
  std::map<uint64_t, int64_t> ranksOf; // by device
  UnitShare share;
  uint64_t own = 0;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (hosts[i] != hosts[size_t(rank)])
      continue;
    List list(reports[i].ids, reports[i].ids + std::min(reports[i].count, UnitReport::kMost));
    seen.insert(list.begin(), list.end());
    if (list.empty())
      continue;
    size_t number = turns[list]++ % list.size();
    ++ranksOf[list[number]];
    if (int64_t(i) == rank) {
      share.number = int64_t(number);
      own = list[number];
    }
  }
  share.onMachine = int64_t(seen.size());
  share.isShared = reports[size_t(rank)].count == 0 || ranksOf[own] > 1;
  return share;
}
