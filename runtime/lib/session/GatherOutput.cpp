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
    gives = map.isWriter() && (port.stage == kNone || port.stage == stage);
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
  own.pack(session.ranks[0]->buffer(port.buffer), packed.data());
  std::vector<std::vector<char>> parts(static_cast<size_t>(ranks));
  std::vector<weft_block> sends(parts.size()), staging(parts.size());
  std::vector<const void *> received(parts.size());
  sends[0] = {packed.data(), packed.size()};
  for (int64_t rank = 0; first && rank < ranks; ++rank) {
    parts[size_t(rank)].resize(Part(p, port, rank).size());
    staging[size_t(rank)] = {parts[size_t(rank)].data(), parts[size_t(rank)].size()};
  }
  std::vector<weft_message> given = messagesOf(sends), wanted = messagesOf(staging);
  const weft_comm_vtable &vtable = *session.shared.comm.vtable;
  WEFT_TRY(session.waiting([&](weft_status *s) {
    return vtable.exchange_begin(session.processGroup, given.data(), wanted.data(), received.data(),
                                 s);
  }));
  for (int64_t rank = 0; first && rank < ranks; ++rank)
    Part(p, port, rank)
        .unpack(static_cast<const char *>(rank == 0 ? packed.data() : received[size_t(rank)]),
                tensor);
  return session.waiting(
      [&](weft_status *s) { return vtable.exchange_end(session.processGroup, s); });
}
