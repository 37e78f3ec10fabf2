// What the bytes of the arena hold, and which accesses are ordered.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_VERIFY_MEMORYTRACE_H
#define WEFT_PASSES_RT_VERIFY_MEMORYTRACE_H

#include "passes/rt/memory/Lifetimes.h"

#include <map>

namespace weft::rt {

/// The arena as intervals of bytes, each holding a whole value or nothing. Of a routine it is the
/// scratch, and the blocks lie behind it.
class MemoryTrace {
public:
  using Content = const void *;

  explicit MemoryTrace(ProgramOp program);

  /// The buffer now holds `content`; whatever shared bytes with it is gone.
  void write(mlir::Value buffer, Content content);
  void write(int64_t offset, mlir::MemRefType type, Content content);
  bool holds(mlir::Value buffer, Content content);
  bool holds(int64_t offset, mlir::MemRefType type, Content content) const;

  /// The bytes of a call's scratch in which its routine has buffers, in order and apart.
  llvm::SmallVector<std::pair<int64_t, int64_t>> scratchRanges(InvokeOp call);
  /// What they held is gone.
  void clobber(InvokeOp call);

  /// Buffers alive together share no bytes, and each access is in a lifetime. Those of a routine
  /// are alive where they are in the scratch of its calls.
  mlir::LogicalResult verifyLifetimes();
  /// No view that the command writes shares bytes with one it reads, unless
  /// the two are the same bytes and in `allowed` as (read, written); no two
  /// views that it writes share elements. Different buffers may share bytes in a
  /// call: their lifetimes say whether they do so one after the other.
  mlir::LogicalResult
  verifyNoOverlap(CommandInterface command,
                  const llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> &allowed);

  /// [first, last) bytes of a buffer or state in the arena.
  std::pair<int64_t, int64_t> range(mlir::Value buffer);

private:
  void write(std::pair<int64_t, int64_t> bytes, Content content);
  bool holds(std::pair<int64_t, int64_t> bytes, Content content) const;

  ProgramOp program;
  llvm::StringMap<StateOp> states;
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<std::pair<int64_t, int64_t>>> ownRanges;
  llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> ranges; // of buffers, once asked for
  std::map<int64_t, std::pair<int64_t, Content>> intervals;        // begin -> (end, content)
};

/// Waits refer to earlier records; conflicting accesses are ordered by streams
/// and events, whatever the streams do; communication is ordered among itself, and so are
/// transfers.
mlir::LogicalResult verifyOrder(ProgramOp program, MemoryTrace &memory);

} // namespace weft::rt

#endif // WEFT_PASSES_RT_VERIFY_MEMORYTRACE_H
