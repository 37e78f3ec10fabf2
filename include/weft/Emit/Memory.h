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

/// The buffers and states that are alive while one program runs.
struct MemoryTimeline {
  /// From this command on, until the next moment.
  struct Moment {
    int64_t command;
    std::array<int64_t, kNumClasses> bytes;
  };
  llvm::StringRef program;
  int64_t commands = 0;
  std::vector<Moment> moments;
};

struct MemoryUse {
  int64_t arenaBytes = 0;
  /// The most bytes of each class that are alive together in some program.
  std::array<int64_t, kNumClasses> peaks{};
  /// All that is alive at the peak: states, and the buffers of `program`, which
  /// has the highest peak of all programs. Largest first.
  llvm::StringRef program;
  int64_t command = 0;
  std::vector<MemoryItem> atPeak;
  std::vector<MemoryTimeline> timelines;
};

/// Of the planned programs of one stage. Commands are numbered as they are issued, and a call
/// counts as the commands of its routine; of a timeline it is one moment, when most is alive in it.
MemoryUse memoryUse(mlir::ModuleOp module);

/// The arena of a process of the stage that needs the most.
int64_t mostArenaBytes(mlir::ModuleOp module);

} // namespace weft::emit

#endif // WEFT_EMIT_MEMORY_H
