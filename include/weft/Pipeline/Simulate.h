// When each action of a schedule runs, how long all takes, and what ranks hold meanwhile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_SIMULATE_H
#define WEFT_PIPELINE_SIMULATE_H

#include "weft/Pipeline/Costs.h"
#include "weft/Pipeline/Walk.h"

namespace weft::pipeline {

/// Times of a schedule. An action starts when the one before it on its rank has ended and what it
/// reads is there: F(c, m) reads F(c-1, m), B and D of (c, m) read B or D of (c+1, m), or F(c, m)
/// on the last chunk, W reads B. What comes from another rank arrives a transfer after its maker's
/// end; transfers occupy no rank and do not queue. D sends its gradient at its end.
struct Timing {
  /// The longest time of a rank from the start of its first action to the end of its last.
  double span = 0;
  /// From the first start to the last end of all: the time of a step whose ranks meet at its end.
  double wall = 0;
  /// The most that each rank holds after any of its actions; F counts from its start.
  std::vector<double> peak;
  /// By rank and position.
  std::vector<std::vector<double>> start, end;
};

/// Simulates many schedules of one kind of pipeline; keeps its memory between runs.
class Simulator {
public:
  Simulator(const Costs &costs, const std::vector<int32_t> &place, int32_t microbatches);

  /// `schedule` has the simulator's place and microbatches and each action once. Returns false if
  /// it stops forever; then `timing` says nothing.
  bool run(const Schedule &schedule, Timing &timing);

private:
  Walk walk;
  size_t microbatches;
  std::vector<double> times[kNumKinds], changes[kNumKinds]; // by chunk
  std::vector<double> transfers;                            // from a chunk to the next
  std::vector<double> forwardEnd, backwardEnd;              // by chunk and microbatch
  std::vector<double> free, held;                           // by rank
};

/// Simulates once.
std::optional<Timing> simulate(const Schedule &schedule, const Costs &costs);

/// What the rank of one chunk has of it at most, in the order of the rank's actions.
struct ChunkPeak {
  /// Microbatches whose F has begun and whose B or D is not over.
  int64_t inFlight = 0;
  /// As Timing::peak, of this chunk alone.
  double kept = 0;
};
std::vector<ChunkPeak> chunkPeaks(const Schedule &schedule, const Costs &costs);

/// The share of `time` in which ranks idle on average: 1 - work / (ranks * time).
double bubbleOf(const Costs &costs, const Schedule &schedule, double time);

/// Below these no schedule can be, whatever its order, with these chunks on these ranks.
struct Bounds {
  double span, wall;
};
Bounds lowerBounds(const Costs &costs, const std::vector<int32_t> &place, int32_t microbatches);

/// The least limit of each rank under which any schedule runs: one microbatch at a time.
std::vector<double> leastMemory(const Costs &costs, const std::vector<int32_t> &place,
                                size_t ranks);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_SIMULATE_H
