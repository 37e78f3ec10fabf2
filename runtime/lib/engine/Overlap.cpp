// Intersects the intervals of two streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Overlap.h"

#include <algorithm>

using namespace weft::runtime;

Overlap weft::runtime::overlapOf(const IntervalList &communication, Interval computing,
                                 const IntervalList &idle) {
  auto common = [](Interval a, Interval b) {
    return std::max(0.0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
  };
  Overlap result;
  const Interval *next = idle.begin();
  for (Interval interval : communication) {
    result.communication += interval.end - interval.begin;
    double hidden = common(interval, computing);
    // An idle interval may reach into the next communication.
    while (next != idle.end() && next->end <= interval.begin)
      ++next;
    for (const Interval *i = next; i != idle.end() && i->begin < interval.end; ++i)
      hidden -= common(*i, interval); // it lies in `computing`
    result.hidden += std::max(0.0, hidden);
  }
  return result;
}
