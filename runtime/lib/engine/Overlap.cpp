// Intersects the spans of two streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Overlap.h"

#include <algorithm>

using namespace weft::runtime;

Overlap weft::runtime::overlapOf(const SpanList &communication, Span computing,
                                 const SpanList &idle) {
  auto common = [](Span a, Span b) {
    return std::max(0.0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
  };
  Overlap result;
  const Span *next = idle.begin();
  for (Span span : communication) {
    result.communication += span.end - span.begin;
    double hidden = common(span, computing);
    // An idle span may reach into the next communication.
    while (next != idle.end() && next->end <= span.begin)
      ++next;
    for (const Span *i = next; i != idle.end() && i->begin < span.end; ++i)
      hidden -= common(*i, span); // it lies in `computing`
    result.hidden += std::max(0.0, hidden);
  }
  return result;
}
