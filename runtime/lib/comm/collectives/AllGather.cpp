// Gathers the members' shards.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/TransportCollective.h"

#include <cstring>

using namespace weft::runtime;

namespace {

class AllGather : public TransportCollective {
public:
  using TransportCollective::TransportCollective;

private:
  std::pair<int64_t, int64_t> viewElements(const Part &p) const override {
    return {p.part, p.whole};
  }
  void planScratch() override {
    for (const Part &part : parts)
      roomBytes += receivedBytes(part);
  }
  /// Of part `p` in a member's room; 0: received in place.
  int64_t receivedBytes(const Part &p) const {
    return p.params.outer == 1 ? 0 : int64_t(alignUp(uint64_t(p.part * bytes)));
  }

  // Whole padded shards travel where shards are not one run, so that the source
  // need not be packed.
  Status move(char *, char *base) override {
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      char *room = roomOf(base, m);
      for (const Part &part : parts) {
        bool direct = part.params.outer == 1;
        int64_t size = part.part * bytes;
        sends.add(m, part.from, direct ? mine(part).valid * part.row : size);
        if (direct)
          rooms.add(m, part.to + part.shards[m].start * part.row, part.shards[m].valid * part.row);
        else
          rooms.add(m, m == group.me ? part.from : room, size);
        room += receivedBytes(part);
      }
    }
    WEFT_TRY(exchange(true));
    size_t next = 0;
    for (int64_t m = 0; m < members; ++m)
      for (const Part &part : parts) {
        const char *data = static_cast<const char *>(received[next++]);
        const Shard &shard = part.shards[m];
        char *to = part.to + shard.start * part.row;
        if (part.params.outer != 1)
          copyRows(part, data, shard.extent, 0, part.to, part.params.extent, shard.start,
                   shard.valid);
        else if (data != to && shard.valid * part.row != 0)
          std::memcpy(to, data, size_t(shard.valid * part.row));
      }
    return exchange(false);
  }
};

} // namespace

TransportCollectivePtr weft::runtime::makeAllGather(const TransportContext &context) {
  return std::make_unique<AllGather>(context);
}
