// A command's values and views as one rank sees them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_RESOLVED_H
#define WEFT_RUNTIME_LIB_DEVICE_RESOLVED_H

#include "weft/runtime/Placement.h"

#include <vector>

namespace weft::runtime {

class CollectiveProvider;

/// What commands are prepared with, at load.
struct PrepareContext {
  const ProgramView &program;
  const std::vector<int64_t> &coordinates;
  CollectiveProvider &collectives;
  unsigned stream;        // of the command
  Table<uint64_t> blocks; // of a routine's command: where its blocks lie in the arena
  Table<int64_t> unset;   // and which of them are sums to which nothing was added (Invoke)
};

/// What a command finds when it runs: the arena as the device addresses it, which only the device
/// may follow.
struct CommandFrame {
  char *arena = nullptr;
};

/// What a value is on this rank.
int64_t valueOf(const PrepareContext &context, const ScalarValue &value);

/// The views of a product: without an addend that is unset.
Table<View> productViews(const PrepareContext &context, const Command &command);

/// Where the view's first element lies, in bytes from the arena's start.
int64_t placeOf(const PrepareContext &context, const View &view);

/// A view whose lists are at hand.
struct ResolvedView {
  int64_t offset = 0; // first element, bytes from the arena's start
  DType dtype = DType::F32;
  unsigned rank = 0;
  int64_t sizes[kMaxTensorRank];
  int64_t strides[kMaxTensorRank];

  ResolvedView() = default;
  ResolvedView(const PrepareContext &context, const View &view);

  int64_t numElements() const {
    int64_t count = 1;
    for (unsigned d = 0; d < rank; ++d)
      count *= sizes[d];
    return count;
  }
  /// Of the first element, on the device.
  char *address(const CommandFrame &frame) const { return frame.arena + offset; }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_RESOLVED_H
