// Which bytes of an arena are taken when, and which lie free during a life.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_MEMORY_TAKENBYTES_H
#define WEFT_PASSES_RT_MEMORY_TAKENBYTES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::rt {

/// Bytes [first, second).
using ByteRange = std::pair<int64_t, int64_t>;

/// Ranges of bytes that neither overlap nor touch, in order.
class ByteRanges {
public:
  llvm::ArrayRef<ByteRange> list() const { return ranges; }

  /// False if all of it was there.
  bool insert(ByteRange added);

private:
  llvm::SmallVector<ByteRange, 1> ranges;
};

/// The gaps from byte `base` on that hold `bytes` and are not taken. Smaller ones are forgotten at
/// once, so that there are few, however much is taken.
class Gaps {
public:
  Gaps(int64_t base, int64_t bytes) : bytes(bytes), gaps{{base, INT64_MAX}} {}

  /// Takes ranges that ascend and do not overlap.
  void subtract(llvm::ArrayRef<ByteRange> taken);

  /// The first byte of the smallest gap, of equals of the first; that behind all that is taken is
  /// the largest.
  int64_t smallest() const;

private:
  int64_t bytes;
  llvm::SmallVector<ByteRange, 8> gaps, left;
};

/// The bytes that buffers take over time, in a tree of intervals of moments. Each interval has the
/// bytes that some buffer takes throughout, and those that are taken at any moment of it. As what
/// lies side by side is one range, what is taken during a life is told by a few ranges of few
/// intervals, however many buffers are alive in it.
class TakenBytes {
public:
  explicit TakenBytes(int64_t moments);

  void insert(ByteRange bytes, int64_t first, int64_t last);

  /// Takes from `gaps` what is taken at any moment of [first, last].
  void subtractFrom(Gaps &gaps, int64_t first, int64_t last) const;

private:
  /// The fewest intervals that are [first, last].
  void forEachInterval(int64_t first, int64_t last, llvm::function_ref<void(int64_t)> each) const;

  int64_t leaves = 1;
  std::vector<ByteRanges> throughout, ever;
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_MEMORY_TAKENBYTES_H
