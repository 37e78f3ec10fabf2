// What each rank must hold after each collective, from the ranks' data alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CollectiveReference.h"
#include "Random.h"

namespace weft::gpukit {

std::string toString(Collective collective) {
  switch (collective) {
  case Collective::allReduce:
    return "all_reduce";
  case Collective::reduce:
    return "reduce";
  case Collective::broadcast:
    return "broadcast";
  case Collective::allGather:
    return "all_gather";
  case Collective::reduceScatter:
    return "reduce_scatter";
  case Collective::allToAll:
    return "all_to_all";
  case Collective::gather:
    return "gather";
  case Collective::scatter:
    return "scatter";
  case Collective::sendRecv:
    return "send_recv";
  }
  return "?";
}

CollectiveSizes collectiveSizes(Collective collective, int world, int rank, int root,
                                uint64_t count) {
  uint64_t all = count * uint64_t(world);
  bool isRoot = rank == root;
  switch (collective) {
  case Collective::allReduce:
  case Collective::sendRecv:
    return {count, count};
  case Collective::reduce:
    return {count, isRoot ? count : 0};
  case Collective::broadcast:
    return {isRoot ? count : 0, count};
  case Collective::allGather:
    return {count, all};
  case Collective::reduceScatter:
    return {all, count};
  case Collective::allToAll:
    return {all, all};
  case Collective::gather:
    return {count, isRoot ? all : 0};
  case Collective::scatter:
    return {isRoot ? all : 0, count};
  }
  return {0, 0};
}

double collectiveAt(Collective collective, int world, int rank, int root, uint64_t count,
                    uint64_t i, bool bf16) {
  auto sent = [&](int from, uint64_t index) {
    uint64_t seed = collectiveSeed + uint64_t(from);
    return double(bf16 ? bf16NormalAt(seed, index, 1) : normalAt(seed, index, 1));
  };
  auto sum = [&](uint64_t index) {
    double total = 0;
    for (int from = 0; from < world; ++from)
      total += sent(from, index);
    return total;
  };
  uint64_t mine = uint64_t(rank) * count;
  switch (collective) {
  case Collective::allReduce:
  case Collective::reduce:
    return sum(i);
  case Collective::broadcast:
    return sent(root, i);
  case Collective::allGather:
  case Collective::gather:
    return sent(int(i / count), i % count);
  case Collective::reduceScatter:
    return sum(mine + i);
  case Collective::allToAll:
    return sent(int(i / count), mine + i % count);
  case Collective::scatter:
    return sent(root, mine + i);
  case Collective::sendRecv:
    return sent((rank + world - 1) % world, i);
  }
  return 0;
}

Tolerance collectiveTolerance(Collective collective, int world, bool bf16) {
  bool reduces = collective == Collective::allReduce || collective == Collective::reduce ||
                 collective == Collective::reduceScatter;
  if (!reduces)
    return {0, 0};
  double roundings = double(world);
  return bf16 ? Tolerance{3e-3 * roundings, 2e-2 * roundings}
              : Tolerance{1e-6 * roundings, 1e-5 * roundings};
}

} // namespace weft::gpukit
