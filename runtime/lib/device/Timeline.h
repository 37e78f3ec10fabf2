// When a stream of a device did what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_TIMELINE_H
#define WEFT_RUNTIME_LIB_DEVICE_TIMELINE_H

#include <cstddef>
#include <cstdint>
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

/// That a command ran.
struct TraceSpan {
  uint32_t program, command; // as in CommandPlace
  double begin, end;         // seconds since the session opened
  double cpu;                // seconds of a core that the stream used; 0 where it has none
};

/// Of the last run, but `trace`.
struct Timeline {
  double communicationSeconds = 0; // waits for events included
  SpanList communication;          // commands that communicate
  SpanList idle;                   // stream 0: what is not computation
  Span ran{0, 0};
  std::vector<TraceSpan> trace; // since the session opened, as far as there is room
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_TIMELINE_H
