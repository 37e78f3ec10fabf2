// Where a buffer finds room, against each byte at each moment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/memory/TakenBytes.h"

#include "gtest/gtest.h"

#include <random>

using namespace weft::rt;

namespace {

/// Which bytes are taken, moment by moment.
class Table {
public:
  explicit Table(int64_t moments) : taken(size_t(moments), std::vector<bool>(kBytes)) {}

  void insert(ByteRange bytes, int64_t first, int64_t last) {
    for (int64_t moment = first; moment <= last; ++moment)
      for (int64_t byte = bytes.first; byte < bytes.second; ++byte)
        taken[size_t(moment)][size_t(byte)] = true;
  }

  /// The first byte of the smallest gap, of equals of the first.
  int64_t smallestGap(int64_t base, int64_t bytes, int64_t first, int64_t last) const {
    int64_t best = -1, least = kBytes, begin = base;
    auto end = [&](int64_t at) {
      if (at - begin >= bytes && at - begin < least) {
        best = begin;
        least = at - begin;
      }
    };
    int64_t free = base; // behind all that is taken
    for (int64_t byte = base; byte < kBytes; ++byte)
      for (int64_t moment = first; moment <= last; ++moment)
        if (taken[size_t(moment)][size_t(byte)]) {
          end(byte);
          begin = free = byte + 1;
          break;
        }
    return best >= 0 ? best : free;
  }

private:
  static constexpr int64_t kBytes = 512;
  std::vector<std::vector<bool>> taken;
};

TEST(TakenBytes, RoomIsWhereNothingIsTaken) {
  int64_t gaps = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](int64_t n) {
      return std::uniform_int_distribution<int64_t>(0, n - 1)(random);
    };
    // Two that are asked together, as those of a routine and of its callers are.
    int64_t moments = 1 + below(40), base = below(8), longest = 1 + below(moments);
    std::array<TakenBytes, 2> taken{TakenBytes(moments), TakenBytes(moments)};
    Table table(moments);
    int64_t top = base;
    for (int64_t i = 0; i < 40; ++i) {
      int64_t bytes = 1 + below(8), first = below(moments);
      int64_t last = std::min(moments - 1, first + below(longest));
      Gaps found(base, bytes);
      for (const TakenBytes &each : taken)
        each.subtractFrom(found, first, last);
      int64_t place = found.smallest();
      ASSERT_EQ(place, table.smallestGap(base, bytes, first, last)) << "seed " << seed;
      gaps += place < top;
      // Some lie elsewhere, across others, as what is in use by several callers does.
      if (below(4) == 0)
        place = base + below(64);
      taken[size_t(below(2))].insert({place, place + bytes}, first, last);
      table.insert({place, place + bytes}, first, last);
      top = std::max(top, place + bytes);
    }
  }
  EXPECT_GT(gaps, 3000); // of 12,000: not only the end is ever found
}

} // namespace
