// Moves a split from one dimension to another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/TransportCollective.h"

#include <cstring>

using namespace weft::runtime;

namespace {

class AllToAll : public TransportCollective {
public:
  using TransportCollective::TransportCollective;

private:
  std::pair<int64_t, int64_t> viewElements(const Part &p) const override {
    return {p.whole * params.middle * p.others[0].extent,
            p.part * params.middle * params.otherExtent};
  }
  void planScratch() override {
    roomBytes = int64_t(
        alignUp(uint64_t(parts[0].part * params.middle * parts[0].others[0].extent * bytes)));
    packBytes = uint64_t(members * roomBytes);
  }

  /// Copies a box of the dimensions scattered (a) and gathered (b) between
  /// arrays [outer][A][middle][B][inner] (order by gatherFirst).
  void copyBox(const char *from, int64_t fromA, int64_t fromAStart, int64_t fromB,
               int64_t fromBStart, char *to, int64_t toA, int64_t toAStart, int64_t toB,
               int64_t toBStart, int64_t countA, int64_t countB) const {
    int64_t row = params.inner * bytes;
    bool swap = params.gatherFirst != 0;
    // Exterior dimension x, interior dimension y.
    int64_t fromX = swap ? fromB : fromA, fromXStart = swap ? fromBStart : fromAStart;
    int64_t fromY = swap ? fromA : fromB, fromYStart = swap ? fromAStart : fromBStart;
    int64_t toX = swap ? toB : toA, toXStart = swap ? toBStart : toAStart;
    int64_t toY = swap ? toA : toB, toYStart = swap ? toAStart : toBStart;
    int64_t countX = swap ? countB : countA, countY = swap ? countA : countB;
    if (countY == 0 || row == 0)
      return;
    for (int64_t o = 0; o < params.outer; ++o)
      for (int64_t x = 0; x < countX; ++x)
        for (int64_t m = 0; m < params.middle; ++m)
          std::memcpy(
              to + (((o * toX + toXStart + x) * params.middle + m) * toY + toYStart) * row,
              from +
                  (((o * fromX + fromXStart + x) * params.middle + m) * fromY + fromYStart) * row,
              size_t(countY * row));
  }

  Status move(char *pack, char *base) override {
    const Part &p = parts[0];
    const Shard &myPart = mine(p), &myOther = p.others[size_t(group.me)];
    int64_t each = params.outer * params.middle * p.row;
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      char *packed = pack + m * roomBytes;
      copyBox(p.from, params.extent, p.shards[m].start, p.others[0].extent, 0, packed,
              p.shards[m].valid, 0, myOther.valid, 0, p.shards[m].valid, myOther.valid);
      sends.add(m, packed, each * p.shards[m].valid * myOther.valid);
      rooms.add(m, m == group.me ? packed : roomOf(base, m),
                each * myPart.valid * p.others[m].valid);
    }
    WEFT_TRY(exchange(true));
    if (myPart.valid != myPart.extent)
      for (int64_t i = 0, n = p.part * params.middle * params.otherExtent; i < n; ++i)
        std::memcpy(p.to + i * bytes, &params.padBits, size_t(bytes));
    for (int64_t m = 0; m < members; ++m)
      copyBox(static_cast<const char *>(received[m]), myPart.valid, 0, p.others[m].valid, 0, p.to,
              myPart.extent, 0, params.otherExtent, p.others[m].start, myPart.valid,
              p.others[m].valid);
    return exchange(false);
  }
};

} // namespace

TransportCollectivePtr weft::runtime::makeAllToAll(const TransportContext &context) {
  return std::make_unique<AllToAll>(context);
}
