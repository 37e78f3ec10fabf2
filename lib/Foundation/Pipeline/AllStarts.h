// Goes through all orders of few actions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_PIPELINE_ALLSTARTS_H
#define WEFT_LIB_FOUNDATION_PIPELINE_ALLSTARTS_H

#include "PlacedChunk.h"

#include "weft/Pipeline/Search.h"

namespace weft::pipeline {

/// Starts actions in the order of time, whatever their ranks, in all ways that may end below the
/// best so far. Each chunk's F, B and W go through microbatches in order: if an order does not, let
/// its k-th F, B and W of each chunk be of microbatch k; what they read has come not later then,
/// and memory depends on kinds and chunks alone.
class AllStarts {
public:
  AllStarts(const Costs &costs, const std::vector<int32_t> &place, size_t ranks,
            int32_t microbatches, Objective objective);

  /// Tries `most` starts at most. Returns whether an order takes less than `below`; `schedule` is
  /// the best that was found.
  bool run(double below, int64_t most, Schedule &schedule);

private:
  struct Chunk : PlacedChunk {
    using PlacedChunk::PlacedChunk;
    double tails[kNumKinds] = {}; // at least so long from an action's start to the end of all
    bool canBeBoth = false;       // D needs less memory than B and W
    int32_t forwards = 0, backwards = 0, weights = 0; // so many were begun
  };
  struct Rank {
    double room, left; // memory; times of what has not begun
    double free = 0, held = 0, first = 0;
    bool hasBegun = false;
  };

  void visit();
  void start(Kind kind, int32_t chunk);
  double arrivalOf(Kind kind, int32_t chunk) const;
  bool canEndBelow() const;
  size_t slotOf(int32_t chunk, int32_t microbatch) const {
    return size_t(chunk) * size_t(microbatches) + size_t(microbatch);
  }

  int32_t microbatches;
  bool isOfSpan;
  std::vector<Chunk> chunks;
  std::vector<Rank> ranks;
  std::vector<double> forwardEnd, backwardEnd; // by slot
  std::vector<Action> order, best;             // of all ranks
  int32_t missing = 0;                         // F, B and W that have not begun
  double latest = 0, cut = 0;
  int64_t startsLeft = 0;
};

} // namespace weft::pipeline

#endif // WEFT_LIB_FOUNDATION_PIPELINE_ALLSTARTS_H
