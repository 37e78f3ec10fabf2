// Finds work that touches the same bytes and is not ordered.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ordering.h"

using namespace weft::emulated;

void Touched::cut(uint64_t at) {
  auto after = segments.upper_bound(at);
  if (after == segments.begin())
    return;
  auto found = std::prev(after);
  if (found->first == at || found->second.end <= at)
    return;
  Segment rest = found->second;
  found->second.end = at;
  segments.emplace(at, std::move(rest));
}

std::pair<Touched::Segments::iterator, Touched::Segments::iterator> Touched::range(uint64_t begin,
                                                                                   uint64_t end) {
  cut(begin);
  cut(end);
  for (uint64_t at = begin; at < end;) {
    auto found = segments.lower_bound(at);
    if (found == segments.end() || found->first > at) {
      uint64_t hole = found == segments.end() ? end : std::min(end, found->first);
      found = segments.emplace(at, Segment{hole, {}, {}}).first;
    }
    at = found->second.end;
  }
  return {segments.find(begin), segments.lower_bound(end)};
}

std::string Touched::note(const Touch &touch, unsigned stream, const Clock &clock,
                          const std::string &label) {
  if (touch.bytes == 0)
    return {};
  auto [first, last] = range(touch.begin, touch.begin + touch.bytes);
  for (auto at = first; at != last; ++at) {
    Segment &segment = at->second;
    for (const std::vector<Use> *uses : {&segment.writers, &segment.readers}) {
      if (uses == &segment.readers && !touch.writes)
        continue;
      for (const Use &use : *uses)
        if (clock[use.stream] < use.tick)
          return "'" + label + "' of stream " + std::to_string(stream) + " " +
                 (touch.writes ? "writes" : "reads") + " bytes that '" + use.label +
                 "' of stream " + std::to_string(use.stream) + " " +
                 (uses == &segment.writers ? "writes" : "reads") + ", and nothing orders the two";
    }
    Use own{stream, clock[stream], label};
    if (touch.writes) {
      segment.writers = {own};
      segment.readers.clear();
      continue;
    }
    auto same = std::find_if(segment.readers.begin(), segment.readers.end(),
                             [&](const Use &use) { return use.stream == stream; });
    if (same == segment.readers.end())
      segment.readers.push_back(own);
    else
      *same = own;
  }
  return {};
}

void Touched::forget(uint64_t begin, uint64_t bytes) {
  cut(begin);
  cut(begin + bytes);
  segments.erase(segments.lower_bound(begin), segments.lower_bound(begin + bytes));
}
