// What no schedule can do better.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Simulate.h"

#include <algorithm>
#include <cmath>

using namespace weft::pipeline;

namespace {

/// The chunks of one rank, ascending.
std::vector<std::vector<size_t>> chunksByRank(const std::vector<int32_t> &place) {
  size_t ranks = size_t(*std::max_element(place.begin(), place.end())) + 1;
  std::vector<std::vector<size_t>> result(ranks);
  for (size_t chunk = 0; chunk < place.size(); ++chunk)
    result[size_t(place[chunk])].push_back(chunk);
  return result;
}

/// Sums along the chain of chunks, transfers included: `forward[c]` until F of c can start,
/// `backward[c]` from the end of B of c until B of chunk 0 ends.
struct Chain {
  std::vector<double> forward, backward;
  Chain(const Costs &costs, const std::vector<int32_t> &place)
      : forward(place.size() + 1), backward(place.size() + 1) {
    for (size_t c = 0; c < place.size(); ++c) {
      bool moves = c + 1 < place.size() && place[c] != place[c + 1];
      double transfer = moves ? costs.chunks[c].transfer : 0;
      forward[c + 1] = forward[c] + costs.chunks[c].forward + transfer;
      backward[c + 1] = backward[c] + costs.chunks[c].backward + transfer;
    }
  }
  /// From the start of F of `first` to the first start of B of `last`.
  double roundTrip(size_t first, size_t last, const Costs &costs) const {
    size_t end = forward.size() - 1;
    return forward[end] - forward[first] + backward[end] - backward[last] -
           costs.chunks[last].backward;
  }
};

/// The most work in F that a rank can have begun before any B: each F keeps memory, of `room`.
double mostForward(const Costs &costs, const std::vector<size_t> &chunks, double room,
                   int32_t microbatches) {
  double work = 0;
  if (chunks.size() == 1) {
    const ChunkCosts &chunk = costs.chunks[chunks[0]];
    double kept = chunk.memoryChange(Kind::Forward);
    double fit = kept > 0 ? std::floor(room / kept * (1 + 1e-12)) : microbatches;
    return std::min(fit, double(microbatches)) * chunk.forward;
  }
  // Several chunks share the room: the best parts, even of actions.
  std::vector<size_t> order = chunks;
  auto value = [&](size_t c) {
    return costs.chunks[c].forward / std::max(costs.chunks[c].memoryChange(Kind::Forward), 1e-300);
  };
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
  for (size_t c : order) {
    double kept = costs.chunks[c].memoryChange(Kind::Forward);
    double fit = kept > 0 ? std::min(room / kept, double(microbatches)) : microbatches;
    work += fit * costs.chunks[c].forward;
    room -= fit * kept;
  }
  return work;
}

} // namespace

// Three facts, of each rank r with first chunk a and last chunk z:
// - Until the first B of r can start, it takes the way from F of a to the end of the model and
//   back to z; what of this is not filled with F, because of memory or for want of microbatches,
//   is idle.
// - Chunk 0's rank begins with F of chunk 0; r begins the way to a later, has all its F and B to
//   do, and then the gradient goes back to chunk 0, whose W follows.
// - All begins with F of chunk 0, and r the way to a later.
Bounds weft::pipeline::lowerBounds(const Costs &costs, const std::vector<int32_t> &place,
                                   int32_t microbatches) {
  Chain chain(costs, place);
  Bounds bounds{0, 0};
  std::vector<std::vector<size_t>> byRank = chunksByRank(place);
  for (size_t rank = 0; rank < byRank.size(); ++rank) {
    const std::vector<size_t> &chunks = byRank[rank];
    if (chunks.empty())
      continue;
    double work = 0, weights = 0;
    for (size_t c : chunks) {
      work += microbatches * costs.chunks[c].work();
      weights += microbatches * costs.chunks[c].weight;
    }
    double idle = chain.roundTrip(chunks.front(), chunks.back(), costs) -
                  mostForward(costs, chunks, costs.roomOf(rank), microbatches);
    double own = work + std::max(idle, 0.0), head = chain.forward[chunks.front()];
    double through =
        head + work - weights + chain.backward[chunks.front()] + costs.chunks[0].weight;
    bounds.span = std::max({bounds.span, own, through});
    bounds.wall = std::max({bounds.wall, head + own, through});
  }
  return bounds;
}

std::vector<double> weft::pipeline::leastMemory(const Costs &costs,
                                                const std::vector<int32_t> &place, size_t ranks) {
  std::vector<double> held(ranks), most(ranks);
  auto act = [&](Kind kind, size_t chunk) {
    size_t rank = size_t(place[chunk]);
    held[rank] += costs.chunks[chunk].memoryChange(kind);
    most[rank] = std::max(most[rank], held[rank]);
  };
  for (size_t c = 0; c < place.size(); ++c)
    act(Kind::Forward, c);
  for (size_t c = place.size(); c-- > 0;)
    act(Kind::Both, c);
  return most;
}
