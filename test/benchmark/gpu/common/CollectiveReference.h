// What each rank must hold after each collective, from the ranks' data alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Check.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::gpukit {

enum class Collective {
  allReduce,
  reduce,
  broadcast,
  allGather,
  reduceScatter,
  allToAll,
  gather,
  scatter,
  sendRecv, ///< each rank sends to the next one of a ring
};

inline constexpr Collective allCollectives[] = {
    Collective::allReduce, Collective::reduce,        Collective::broadcast,
    Collective::allGather, Collective::reduceScatter, Collective::allToAll,
    Collective::gather,    Collective::scatter,       Collective::sendRecv};

std::string toString(Collective collective);

/// Elements that a rank sends and receives where one block has `count`
/// elements; zero where it takes no part.
struct CollectiveSizes {
  uint64_t send, receive;
};
CollectiveSizes collectiveSizes(Collective collective, int world, int rank, int root,
                                uint64_t count);

/// Element i of what `rank` sends. Element i of rank r is i of a buffer filled
/// with seed `collectiveSeed + r`.
inline constexpr uint64_t collectiveSeed = 1000;

/// Element i of what `rank` must receive, in double precision; `bf16` says how
/// the sent values were rounded.
double collectiveAt(Collective collective, int world, int rank, int root, uint64_t count,
                    uint64_t i, bool bf16);

/// Reductions in bf16 round once per hop; all other results must be equal to
/// what was sent.
Tolerance collectiveTolerance(Collective collective, int world, bool bf16);

} // namespace weft::gpukit
