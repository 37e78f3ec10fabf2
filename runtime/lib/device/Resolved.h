// A command's values and views as one rank sees them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_RESOLVED_H
#define WEFT_RUNTIME_LIB_RESOLVED_H

#include "weft/runtime/Placement.h"

#include <vector>

namespace weft::runtime {

class CollectiveProvider;

/// What commands are prepared with, at load.
struct PrepareContext {
  const ProgramView &program;
  const std::vector<int64_t> &coordinates;
  CollectiveProvider &collectives;
  unsigned stream; // of the command
};

/// What a command finds when it runs: the arena as the device addresses it, which only the device
/// may follow, and the scalars of now.
struct CommandFrame {
  char *arena = nullptr;
  const uint64_t *scalars = nullptr;
};

/// addend + scale * (one runtime scalar, or nothing): a ScalarValue for a rank.
struct ResolvedValue {
  Id scalar = kNone;
  int64_t scale = 0, addend = 0;

  ResolvedValue() = default;
  ResolvedValue(const PrepareContext &context, const ScalarValue &value);
  int64_t get(const uint64_t *scalars) const {
    return scalar == kNone ? addend : addend + scale * int64_t(scalars[scalar]);
  }
};

/// A view whose static parts are added up.
struct ResolvedView {
  int64_t offset = 0; // first element, bytes from the arena's start
  DType dtype = DType::F32;
  unsigned rank = 0;
  int64_t sizes[kMaxTensorRank];
  int64_t strides[kMaxTensorRank];

  /// Adds up constant and coordinate terms; fails if the view then leaves its
  /// buffer. `contiguous` >= 0: it stands for that many consecutive elements.
  static Status make(const PrepareContext &context, const View &view, ResolvedView &result,
                     int64_t contiguous = -1);

  int64_t numElements() const {
    int64_t count = 1;
    for (unsigned d = 0; d < rank; ++d)
      count *= sizes[d];
    return count;
  }
  bool isRowMajor() const;

  /// Where the first element is now, in bytes from the arena's start; false if
  /// scalars push the view out of its buffer (`leaves` says so in words).
  bool locate(const uint64_t *scalars, int64_t &place) const;
  /// The same as an address on the device; null if the view leaves its buffer.
  char *address(const CommandFrame &frame) const {
    int64_t place;
    return locate(frame.scalars, place) ? frame.arena + place : nullptr;
  }
  Status leaves(const CommandFrame &frame) const;

private:
  int64_t firstByte(const uint64_t *scalars) const;

  int64_t low = 0, high = 0; // bytes that it reaches around the first element
  int64_t bufferBegin = 0, bufferEnd = 0;
  std::vector<ResolvedValue> dynamic; // in bytes
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_RESOLVED_H
