// Which bytes of an arena are taken when, and which lie free during a life.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/memory/TakenBytes.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace weft::rt;

bool ByteRanges::insert(ByteRange added) {
  // The first that does not end before it.
  auto *from =
      partition_point(ranges, [&](const ByteRange &range) { return range.second < added.first; });
  if (from != ranges.end() && from->first <= added.first && added.second <= from->second)
    return false;
  auto *to = from;
  for (; to != ranges.end() && to->first <= added.second; ++to)
    added = {std::min(added.first, to->first), std::max(added.second, to->second)};
  if (from == to) {
    ranges.insert(from, added);
  } else {
    *from = added;
    ranges.erase(from + 1, to);
  }
  return true;
}

void Gaps::subtract(ArrayRef<ByteRange> taken) {
  if (taken.empty())
    return;
  left.clear();
  auto *gap = gaps.begin(), *end = gaps.end();
  auto *range = taken.begin();
  while (gap != end) {
    // On to the next two of which neither ends before the other.
    range = std::partition_point(range, taken.end(),
                                 [&](const ByteRange &r) { return r.second <= gap->first; });
    if (range == taken.end())
      break;
    auto *next = std::partition_point(gap, end,
                                      [&](const ByteRange &g) { return g.second <= range->first; });
    left.append(gap, next);
    gap = next;
    if (gap == end || gap->first >= range->second)
      continue;
    if (range->first - gap->first >= bytes)
      left.push_back({gap->first, range->first});
    gap->first = range->second;
    if (gap->second - gap->first < bytes)
      ++gap;
  }
  left.append(gap, end);
  gaps.swap(left);
}

int64_t Gaps::smallest() const {
  auto sizeOf = [](const ByteRange &gap) { return gap.second - gap.first; };
  return min_element(gaps,
                     [&](const ByteRange &a, const ByteRange &b) { return sizeOf(a) < sizeOf(b); })
      ->first;
}

TakenBytes::TakenBytes(int64_t moments) {
  while (leaves < moments)
    leaves *= 2;
  throughout.resize(2 * leaves);
  ever.resize(2 * leaves);
}

void TakenBytes::insert(ByteRange bytes, int64_t first, int64_t last) {
  forEachInterval(first, last, [&](int64_t interval) {
    throughout[interval].insert(bytes);
    // An interval has what is in its halves, so where all is known it is known further up.
    while (interval > 0 && ever[interval].insert(bytes))
      interval /= 2;
  });
}

void TakenBytes::subtractFrom(Gaps &gaps, int64_t first, int64_t last) const {
  // Those of many moments come last; what they take leaves few gaps to the others.
  SmallVector<int64_t, 64> intervals;
  forEachInterval(first, last, [&](int64_t interval) { intervals.push_back(interval); });
  for (int64_t interval : reverse(intervals))
    gaps.subtract(ever[interval].list());
  // Buffers that live on beyond the intervals of this life.
  for (int64_t l = first + leaves, r = last + leaves; r > 0; l /= 2, r /= 2) {
    gaps.subtract(throughout[r].list());
    if (l != r)
      gaps.subtract(throughout[l].list());
  }
}

void TakenBytes::forEachInterval(int64_t first, int64_t last,
                                 function_ref<void(int64_t)> each) const {
  for (int64_t l = first + leaves, r = last + leaves + 1; l < r; l /= 2, r /= 2) {
    if (l % 2 == 1)
      each(l++);
    if (r % 2 == 1)
      each(--r);
  }
}
