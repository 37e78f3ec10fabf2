// The part of a tensor that one rank writes to a checkpoint, and who writes it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTBOX_H
#define WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTBOX_H

#include "weft/runtime/Placement.h"

#include <string>
#include <vector>

namespace weft::runtime {

/// A box of a tensor whose elements are seen row-major in the shape `view`, a
/// refinement of the tensor's: a dimension that is split on a factor counts as
/// its factors, so every shard is one box.
///
/// Example: rank 1 of the bias 12 = (3)(4:{tp}) on tp=2 holds
/// view [3, 4], start [0, 2], size [3, 2].
struct CheckpointBox {
  std::vector<int64_t> view, start, size;

  int64_t count() const;     // elements in the box
  int64_t numGlobal() const; // elements of the tensor
  /// First element, and one past the last, in the tensor's row-major order.
  int64_t begin() const;
  int64_t end() const;

  /// Where an element of the tensor lies in the box's own row-major order.
  /// `inside`: `local` is its index and `count` elements follow without a gap.
  /// Otherwise the next `count` elements of the tensor are not in the box.
  struct Place {
    bool inside;
    int64_t local;
    int64_t count;
  };
  Place locate(int64_t global) const;
};

/// Whether a state is what training made, not a constant of the executable.
bool isSaved(const ProgramView &program, const State &state);

/// The elements of a tensor that the rank at `coordinates` holds.
CheckpointBox boxOf(const ProgramView &program, Id placement,
                    const std::vector<int64_t> &coordinates);

/// A box in the file of the rank that writes it.
struct CheckpointPiece {
  uint32_t state; // States
  CheckpointBox box;
  uint64_t offset; // bytes from the start of the file's data
  uint64_t bytes;
};

/// Shards with fewer bytes than this are written by one rank. Larger ones are
/// cut between the ranks that hold them.
constexpr uint64_t kLeastPiece = 4 << 20;

/// What every rank writes: each element of every state once. Ranks that hold
/// the same shard share it so that all write about the same number of bytes.
/// The result is the same on all processes; only `rank`'s pieces are kept
/// unless that is -1.
std::vector<std::vector<CheckpointPiece>> planCheckpoint(const ProgramView &program,
                                                         int64_t rank = -1);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTBOX_H
