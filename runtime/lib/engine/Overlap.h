// How much of a rank's communication is hidden under its computation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_ENGINE_OVERLAP_H
#define WEFT_RUNTIME_LIB_ENGINE_OVERLAP_H

#include "device/Timeline.h"

namespace weft::runtime {

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
Overlap overlapOf(const IntervalList &communication, Interval computing, const IntervalList &idle);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_ENGINE_OVERLAP_H
