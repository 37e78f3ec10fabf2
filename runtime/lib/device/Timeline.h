// When a stream of a device did what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_TIMELINE_H
#define WEFT_RUNTIME_LIB_DEVICE_TIMELINE_H

#include "weft/runtime/CollectiveFacts.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::runtime {

/// Seconds since the session opened.
struct Interval {
  double begin, end;
};

/// Intervals of one stream in one run, disjoint and in order. Nothing is allocated
/// after `reserve`; what does not fit any more is added to the last interval.
class IntervalList {
public:
  void reserve(size_t count) { intervals.reserve(count); }
  void clear() { intervals.clear(); }
  void add(Interval interval) {
    if (intervals.size() < intervals.capacity())
      intervals.push_back(interval);
    else if (!intervals.empty())
      intervals.back().end = interval.end;
  }
  const Interval *begin() const { return intervals.data(); }
  const Interval *end() const { return intervals.data() + intervals.size(); }

private:
  std::vector<Interval> intervals;
};

/// That a command ran.
struct TraceInterval {
  uint32_t program, command; // as in CommandPlace
  double begin, end;         // seconds since the session opened
  double cpu;                // seconds of a core that the stream used; 0 where it has none
  Volume sent;
};

/// Of the last run, but `trace`.
struct Timeline {
  double communicationSeconds = 0; // waits for events included
  IntervalList communication;      // commands that communicate
  IntervalList idle;               // stream 0: what is not computation
  Interval ran{0, 0};
  std::vector<TraceInterval> trace; // since the session opened, as far as there is room
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_TIMELINE_H
