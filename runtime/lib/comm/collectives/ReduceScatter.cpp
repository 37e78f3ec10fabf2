// Sums over all members, of which each gets its shard.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/TransportCollective.h"

#include <cstring>

using namespace weft::runtime;

namespace {

class ReduceScatter : public TransportCollective {
public:
  explicit ReduceScatter(const TransportContext &context)
      : TransportCollective(context), sums(params, members) {}

private:
  std::pair<int64_t, int64_t> viewElements(const Part &p) const override {
    return {p.whole, p.part};
  }
  void planScratch() override {
    for (const Part &part : parts) {
      roomBytes += receivedBytes(part);
      packBytes += alignUp(uint64_t(part.part * bytes));
      if (part.params.outer != 1)
        packBytes += alignUp(uint64_t(part.whole * bytes));
    }
  }
  /// Of part `p` in a member's room.
  int64_t receivedBytes(const Part &p) const { return int64_t(alignUp(uint64_t(p.part * bytes))); }

  void pad(const Part &part, int64_t valid, int64_t extent) const {
    int64_t inner = part.params.inner;
    for (int64_t o = 0; o < part.params.outer; ++o)
      for (int64_t i = valid * inner; i < extent * inner; ++i)
        std::memcpy(part.to + (o * extent * inner + i) * bytes, &part.params.padBits,
                    size_t(bytes));
  }

  Status move(char *pack, char *base) override {
    clearMessages();
    char *packed = pack;
    for (const Part &part : parts)
      packed += alignUp(uint64_t(part.part * bytes));
    for (const Part &part : parts) {
      char *at = packed;
      for (int64_t m = 0; m < members; ++m) {
        const Shard &shard = part.shards[m];
        int64_t size = part.params.outer * shard.valid * part.row;
        if (part.params.outer == 1) {
          sends.add(m, part.from + shard.start * part.row, size);
          continue;
        }
        copyRows(part, part.from, part.params.extent, shard.start, at, shard.valid, 0, shard.valid);
        sends.add(m, at, size);
        at += size;
      }
      if (part.params.outer != 1)
        packed += alignUp(uint64_t(part.whole * bytes));
    }
    for (int64_t m = 0; m < members; ++m) {
      char *room = roomOf(base, m);
      for (size_t i = 0; i < parts.size(); ++i) {
        rooms.add(m, m == group.me ? sends[m].blocks[i].data : room,
                  parts[i].params.outer * mine(parts[i]).valid * parts[i].row);
        room += receivedBytes(parts[i]);
      }
    }
    WEFT_TRY(exchange(true));
    // The destination may lie inside the source, so write it last.
    char *reduced = pack;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part &part = parts[i];
      sums(received, i, parts.size(), part.params.outer * mine(part).valid * part.params.inner,
           reduced);
      reduced += alignUp(uint64_t(part.part * bytes));
    }
    WEFT_TRY(exchange(false));
    reduced = pack;
    for (const Part &part : parts) {
      const Shard &me = mine(part);
      copyRows(part, reduced, me.valid, 0, part.to, me.extent, 0, me.valid);
      pad(part, me.valid, me.extent);
      reduced += alignUp(uint64_t(part.part * bytes));
    }
    return {};
  }

  MemberSums sums;
};

} // namespace

TransportCollectivePtr weft::runtime::makeReduceScatter(const TransportContext &context) {
  return std::make_unique<ReduceScatter>(context);
}
