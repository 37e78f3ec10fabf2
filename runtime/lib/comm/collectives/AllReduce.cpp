// Sums over all members, for all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/TransportCollective.h"

#include "weft/runtime/CollectiveFacts.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

/// Elements [begin, end) of part `part`.
struct Piece {
  size_t part;
  int64_t begin, end;
};

class AllReduce : public TransportCollective {
public:
  explicit AllReduce(const TransportContext &context)
      : TransportCollective(context), sums(params, members),
        chunk((total + members - 1) / members) {}

private:
  std::pair<int64_t, int64_t> viewElements(const Part &p) const override {
    return {p.whole, p.whole};
  }
  void planScratch() override {
    if (small())
      packBytes = alignUp(uint64_t(total * bytes));
    roomBytes = int64_t(alignUp(small() ? total * bytes : std::min(chunk * bytes, kRoundBytes)));
  }
  bool small() const { return total * bytes <= kSmallSumBytes; }

  Status move(char *pack, char *base) override {
    return small() ? allReduceAtOnce(pack, base) : allReduce(base);
  }

  /// Everyone gets everything and reduces it.
  Status allReduceAtOnce(char *pack, char *base) {
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      char *room = roomOf(base, m);
      for (const Part &part : parts) {
        sends.add(m, part.from, part.whole * bytes);
        rooms.add(m, m == group.me ? part.from : room, part.whole * bytes);
        room += part.whole * bytes;
      }
    }
    WEFT_TRY(exchange(true));
    // In place, others still read the source: reduce beside it first.
    char *reduced = pack;
    for (size_t i = 0; i < parts.size(); ++i) {
      sums(received, i, parts.size(), parts[i].whole, reduced);
      reduced += parts[i].whole * bytes;
    }
    WEFT_TRY(exchange(false));
    reduced = pack;
    for (const Part &part : parts) {
      std::memcpy(part.to, reduced, size_t(part.whole * bytes));
      reduced += part.whole * bytes;
    }
    return {};
  }

  /// Calls `visit` with the pieces of parts that are elements [begin, end) of
  /// all parts behind each other.
  template <typename Visit> void pieces(int64_t begin, int64_t end, Visit visit) const {
    int64_t at = 0;
    for (size_t i = 0; i < parts.size() && at < end; ++i) {
      int64_t first = std::max<int64_t>(0, begin - at);
      int64_t last = std::min(parts[i].whole, end - at);
      if (first < last)
        visit(Piece{i, first, last});
      at += parts[i].whole;
    }
  }
  int64_t startOf(int64_t member) const { return std::min(total, member * chunk); }

  // Member m reduces chunk m of all parts behind each other, then all gather
  // the chunks. In place this is safe: nobody but member m reads chunk m while
  // it is written.
  Status allReduce(char *base) {
    int64_t round = std::max<int64_t>(1, kRoundBytes / bytes);
    for (int64_t done = 0; done < chunk; done += round)
      WEFT_TRY(reduceRound(done, round, base));
    clearMessages();
    for (int64_t m = 0; m < members; ++m) {
      pieces(startOf(group.me), startOf(group.me + 1), [&](Piece piece) {
        sends.add(m, parts[piece.part].to + piece.begin * bytes, (piece.end - piece.begin) * bytes);
      });
      pieces(startOf(m), startOf(m + 1), [&](Piece piece) {
        rooms.add(m, parts[piece.part].to + piece.begin * bytes, (piece.end - piece.begin) * bytes);
      });
    }
    WEFT_TRY(exchange(true));
    place();
    return exchange(false);
  }

  /// Elements [done, done + round) of every member's chunk.
  Status reduceRound(int64_t done, int64_t round, char *base) {
    clearMessages();
    auto begin = [&](int64_t m) { return std::min(startOf(m + 1), startOf(m) + done); };
    auto end = [&](int64_t m) { return std::min(startOf(m + 1), startOf(m) + done + round); };
    for (int64_t m = 0; m < members; ++m) {
      char *room = roomOf(base, m);
      pieces(begin(m), end(m), [&](Piece piece) {
        sends.add(m, parts[piece.part].from + piece.begin * bytes,
                  (piece.end - piece.begin) * bytes);
      });
      pieces(begin(group.me), end(group.me), [&](Piece piece) {
        int64_t size = (piece.end - piece.begin) * bytes;
        rooms.add(m, m == group.me ? parts[piece.part].from + piece.begin * bytes : room, size);
        room += size;
      });
    }
    WEFT_TRY(exchange(true));
    size_t next = 0, blocks = rooms[group.me].count;
    pieces(begin(group.me), end(group.me), [&](Piece piece) {
      sums(received, next++, blocks, piece.end - piece.begin,
           parts[piece.part].to + piece.begin * bytes);
    });
    return exchange(false);
  }

  /// Copies what was received to where `rooms` wanted it.
  void place() {
    size_t next = 0;
    for (int64_t m = 0; m < members; ++m)
      for (uint64_t b = 0; b < rooms[m].count; ++b, ++next) {
        const weft_block &block = rooms[m].blocks[b];
        if (received[next] != block.data && block.bytes != 0)
          std::memcpy(const_cast<void *>(block.data), received[next], block.bytes);
      }
  }

  MemberSums sums;
  int64_t chunk; // elements that each member reduces
};

} // namespace

TransportCollectivePtr weft::runtime::makeAllReduce(const TransportContext &context) {
  return std::make_unique<AllReduce>(context);
}
