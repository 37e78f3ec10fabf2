// Published bubble rates, and volumes of the tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_FOUNDATION_PIPELINE_PUBLISHED_H
#define WEFT_TEST_UNIT_LIB_FOUNDATION_PIPELINE_PUBLISHED_H

#include "weft/Pipeline/Costs.h"

#include <cstdlib>

namespace weft::pipeline {

/// Reduced by default, all with WEFT_TEST_FULL=1.
inline int volume(int reduced, int full) { return std::getenv("WEFT_TEST_FULL") ? full : reduced; }

/// Rows of tables 3, 5 and 6 of Qi et al., "Zero Bubble Pipeline Parallelism" (arXiv:2401.10241):
/// 8 stages, measured times in ms, and the rates of its simulations. `search` is its automatic
/// search with memory for 2p microbatches (ZB-2p). Rates are shares of the span.
struct PublishedRow {
  int microbatches, chunksPerRank;
  double forward, backward, weight, transfer;
  double oneForwardOneBackward, interleaved, zeroBubble1, zeroBubble2, search;

  ChunkCosts share() const {
    ChunkCosts costs;
    costs.forward = forward;
    costs.backward = backward;
    costs.weight = weight;
    costs.transfer = transfer;
    return costs;
  }
};
constexpr int kPublishedRanks = 8;
constexpr PublishedRow kPublished[] = {
    {24, 3, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1055, 0.1585, 0.1083, 0.0433},
    {32, 3, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.0818, 0.1242, 0.0837, 0.0039},
    {64, 3, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0443, 0.0674, 0.0444, 0.0026},
    {24, 4, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.0808, 0.1323, 0.0698, 0.0029}};

} // namespace weft::pipeline

#endif // WEFT_TEST_UNIT_LIB_FOUNDATION_PIPELINE_PUBLISHED_H
