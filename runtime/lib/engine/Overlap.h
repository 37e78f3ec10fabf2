// How much of a rank's communication is hidden under its computation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_OVERLAP_H
#define WEFT_RUNTIME_LIB_OVERLAP_H

#include <cstddef>
#include <vector>

namespace weft::runtime {

/// Seconds since the session opened.
struct Span {
  double begin, end;
};

/// Spans of one stream in one run, disjoint and in order. Nothing is allocated
/// after `reserve`; what does not fit any more is added to the last span.
class SpanList {
public:
  void reserve(size_t count) { spans.reserve(count); }
  void clear() { spans.clear(); }
  void add(Span span) {
    if (spans.size() < spans.capacity())
      spans.push_back(span);
    else if (!spans.empty())
      spans.back().end = span.end;
  }
  const Span *begin() const { return spans.data(); }
  const Span *end() const { return spans.data() + spans.size(); }

private:
  std::vector<Span> spans;
};

/// Communication time is while a collective is under way on the rank, from its
/// start to its end, waiting for the others included; it is hidden while the
/// computing stream runs something that is neither a wait for another stream
/// nor communication.
struct Overlap {
  double communication = 0, hidden = 0; // seconds

  Overlap &operator+=(const Overlap &other) {
    communication += other.communication;
    hidden += other.hidden;
    return *this;
  }
};

/// Of one stream that communicates beside the computing one, which ran during
/// `computing` except for `idle`.
Overlap overlapOf(const SpanList &communication, Span computing, const SpanList &idle);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_OVERLAP_H
