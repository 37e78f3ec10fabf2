// Makes schedules in simulated time: whenever a rank is free, a rule says what it does next.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_PIPELINE_LISTSCHEDULE_H
#define WEFT_LIB_FOUNDATION_PIPELINE_LISTSCHEDULE_H

#include "PlacedChunk.h"

namespace weft::pipeline {

/// How a rank chooses.
struct RankRule {
  /// The most F whose B has not been, over all of its chunks.
  int32_t cap = 1;
  /// So many W may be due before they go before waiting.
  int32_t hold = 1 << 30;
  /// F is put off if B arrives within so many times of F, W if anything does within times of W.
  double waitForward = 0, waitWeight = 0;
};

struct Rule {
  std::vector<RankRule> ranks;
  /// As `waitForward`, before the first B.
  double firstWait = 1;
  /// F and B in turn where both could go, else B first.
  bool alternates = false;
  /// Of several chunks the latest goes first in F, else the earliest.
  bool prefersLate = true;
};

/// Events in time. Keeps its memory between runs.
class ListScheduler {
public:
  ListScheduler(const Costs &costs, const std::vector<int32_t> &place, size_t ranks,
                int32_t microbatches);

  /// Returns false if memory lets no rank go on; then `schedule` is unfinished.
  bool run(const Rule &rule, Schedule &schedule);

private:
  struct Event {
    double time;
    int32_t rank;
  };
  struct Rank {
    std::vector<int32_t> chunks;
    double room, held, free;
    int32_t inFlight, pending;
    bool hadBackward, lastWasBackward;
  };
  struct Chunk : PlacedChunk {
    using PlacedChunk::PlacedChunk;
    int32_t forwards = 0, backwards = 0, weights = 0; // so many were begun
    // For F of later chunks on the rank, so that one microbatch can always get through.
    double reserve = 0;
    int32_t reserveCount = 0;
  };
  struct Choice {
    int32_t forward = -1, backward = -1, weight = -1; // chunks
    double nextForward, nextBackward;                 // known arrivals after now
    bool isFull = false;                              // memory holds something back
  };

  void push(double time, int32_t rank);
  Choice choicesOf(const Rank &rank, const RankRule &rule, double now) const;
  void decide(int32_t rank, double now, Schedule &schedule);
  void begin(Kind kind, int32_t chunk, double now, Schedule &schedule);
  size_t slotOf(int32_t chunk, int32_t microbatch) const {
    return size_t(chunk) * size_t(microbatches) + size_t(microbatch);
  }

  int32_t microbatches;
  double tolerance; // times that differ by less are one
  const Rule *rule = nullptr;
  std::vector<Rank> ranks;
  std::vector<Chunk> chunks;
  std::vector<double> forwardArrival, backwardArrival; // by slot
  std::vector<Event> events;                           // a heap
};

} // namespace weft::pipeline

#endif // WEFT_LIB_FOUNDATION_PIPELINE_LISTSCHEDULE_H
