// Brings the parts of an output that other processes hold to the first one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session/Session.h"

#include <cstring>

using namespace weft::runtime;

namespace {

/// A rank's part of an output, whichever process the rank is of: the elements
/// that it, and none of its copies, gives, one after another.
class Part {
public:
  Part(const ProgramView &p, const Port &port, int64_t rank)
      : bytes(dtypeBytes(port.dtype)), map(p, port.placement, coordinatesOf(p, rank)) {
    std::vector<int64_t> position = coordinatesOf(p, rank);
    uint32_t stage = uint32_t(indexAlong(p, p.axes(p.info().stageAxes), position));
    gives = givesToFiles(p, port, map, stage);
  }

  uint64_t size() const {
    uint64_t count = 0;
    if (gives)
      map.forEachRun([&](const ShardMap::Run &run) { count += uint64_t(run.count); });
    return count * bytes;
  }
  void pack(const char *buffer, char *to) const {
    if (gives)
      map.forEachRun([&](const ShardMap::Run &run) {
        std::memcpy(to, buffer + run.local * bytes, size_t(run.count * bytes));
        to += run.count * bytes;
      });
  }
  void unpack(const char *from, char *tensor) const {
    if (gives)
      map.forEachRun([&](const ShardMap::Run &run) {
        std::memcpy(tensor + run.global * bytes, from, size_t(run.count * bytes));
        from += run.count * bytes;
      });
  }

private:
  int64_t bytes;
  ShardMap map;
  bool gives = false;
};

} // namespace

Status weft::runtime::gatherOutput(weft_session &session, const Port &port, char *tensor) {
  if (!session.processGroup)
    return {};
  const ProgramView &p = session.view();
  int64_t ranks = p.numRanks();
  bool first = session.firstRank == 0;
  Part own(p, port, session.firstRank);
  std::vector<char> packed(own.size());
  if (!packed.empty()) {
    HostCopy shard = session.ranks[0]->shard(port);
    WEFT_TRY(shard.download());
    own.pack(shard.data(), packed.data());
  }
  std::vector<std::vector<char>> parts(first ? size_t(ranks) : 0);
  std::vector<weft_block> received;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank].resize(Part(p, port, int64_t(rank)).size());
    received.push_back({parts[rank].data(), parts[rank].size()});
  }
  WEFT_TRY(gatherOnce(session, {packed.data(), packed.size()}, received));
  for (size_t rank = 0; rank < parts.size(); ++rank)
    Part(p, port, int64_t(rank)).unpack(parts[rank].data(), tensor);
  return {};
}
