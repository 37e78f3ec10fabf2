// How much memory a scheduled program needs on one process, and for what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_MEMORY_H
#define WEFT_EMIT_MEMORY_H

#include "dialects/rt/IR/Rt.h"

#include <array>

namespace weft::emit {

constexpr unsigned kNumClasses = rt::getMaxEnumValForBufferClass() + 1;

struct MemoryItem {
  llvm::StringRef name;
  rt::BufferClass kind;
  int64_t bytes;
};

struct MemoryUse {
  int64_t arenaBytes = 0;
  /// The most bytes of each class that are alive together in some program.
  std::array<int64_t, kNumClasses> peaks{};
  /// What is alive when most is: states, and the buffers of `program`, which
  /// needs the most. Largest first.
  llvm::StringRef program;
  std::vector<MemoryItem> atPeak;
};

/// Of planned programs.
MemoryUse memoryUse(mlir::ModuleOp module);

} // namespace weft::emit

#endif // WEFT_EMIT_MEMORY_H
