// What the chunks of a pipeline cost: times, transfers, memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_COSTS_H
#define WEFT_PIPELINE_COSTS_H

#include "weft/Pipeline/Schedule.h"

namespace weft::pipeline {

/// Of one chunk and one microbatch. Times have one unit and memory another, whichever.
struct ChunkCosts {
  double forward = 1, backward = 1, weight = 1;
  /// Until what the chunk made is at the next chunk, and its gradient back, on another rank.
  double transfer = 0;
  /// What F keeps until B (FB), what F keeps until W (FW), what B makes for W (BW).
  double keptForBackward = 1, keptForWeight = 0, madeForWeight = 0;

  double work() const { return forward + backward + weight; }
  /// What an action changes. B counts net: what it makes takes the place of what it frees.
  double memoryChange(Kind kind) const;
  double time(Kind kind) const;
};

struct Costs {
  std::vector<ChunkCosts> chunks;
  /// The most that a rank may hold; empty: no limit.
  std::vector<double> limit;

  double limitOf(size_t rank) const;
  /// What counts as within the limit: sums of memory round.
  double roomOf(size_t rank) const { return limitOf(rank) * (1 + 1e-9); }
};

/// One of equal chunks: `share` is what one rank's share of the model costs, `share.transfer` one
/// transfer; each of its `chunksPerRank` chunks, 1.5 for 3 on 2 ranks, costs an equal part.
ChunkCosts evenChunk(const ChunkCosts &share, double chunksPerRank);

/// All of them.
Costs evenCosts(int64_t ranks, int64_t chunksPerRank, const ChunkCosts &share);

/// Reads a file of costs:
///
///   weft costs 1
///   all      F=1 B=1.1 W=0.8 comm=0.1 FB=1 FW=3 BW=2    # every chunk
///   chunk 3  F=1.7 B=1.9                                # but this one
///   rank 0   limit=24
///
/// `comm` of a chunk is that to the next one. `all` comes once, before any `chunk`. What is not
/// said is as in ChunkCosts.
std::optional<Costs> readCosts(const std::string &text, size_t chunks, size_t ranks,
                               std::string &error);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_COSTS_H
