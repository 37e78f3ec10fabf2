// What schedulers ask of a chunk.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_PIPELINE_PLACEDCHUNK_H
#define WEFT_LIB_FOUNDATION_PIPELINE_PLACEDCHUNK_H

#include "weft/Pipeline/Costs.h"

namespace weft::pipeline {

/// Of a chunk at its place: times and changes of memory by kind, and the time that its result is
/// under way, 0 to a chunk on the same rank.
struct PlacedChunk {
  PlacedChunk(const Costs &costs, const std::vector<int32_t> &place, size_t chunk)
      : transfer(chunk + 1 < place.size() && place[chunk] != place[chunk + 1]
                     ? costs.chunks[chunk].transfer
                     : 0),
        rank(place[chunk]) {
    for (unsigned kind = 0; kind < kNumKinds; ++kind) {
      times[kind] = costs.chunks[chunk].time(Kind(kind));
      changes[kind] = costs.chunks[chunk].memoryChange(Kind(kind));
    }
  }

  double times[kNumKinds], changes[kNumKinds];
  double transfer;
  int32_t rank;
};

} // namespace weft::pipeline

#endif // WEFT_LIB_FOUNDATION_PIPELINE_PLACEDCHUNK_H
