// Which elements of a placed tensor a process rank holds, and where.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_PLACEMENT_H
#define WEFT_RUNTIME_PLACEMENT_H

#include "weft/runtime/Program.h"

#include <vector>

namespace weft::runtime {

/// One rank's share of `extent` elements split over axes.
struct Shard {
  int64_t start;  // first global index
  int64_t valid;  // elements that exist; the shard is [start, start + valid)
  int64_t extent; // static local extent, the same on all ranks, >= valid
};

/// Splits `extent` over axes of `sizes` (major to minor) for the member at
/// `coordinates`, each level by ceiling division of the level above's extent.
Shard shardOf(int64_t extent, Table<int64_t> sizes, Table<int64_t> coordinates);

/// `rank`'s coordinate along every mesh axis.
std::vector<int64_t> coordinatesOf(const ProgramView &program, int64_t rank);

/// The row-major index of `coordinates` along `axes`, the last axis fastest.
int64_t indexAlong(const ProgramView &program, Table<uint32_t> axes,
                   const std::vector<int64_t> &coordinates);

/// The map between a global tensor and one rank's local buffer.
///
/// Example: a fused QKV bias of 12 = (3)(4:{tp}) on tp=2. Rank 1 holds global
/// elements 2,3 6,7 10,11 at local positions 0,1 2,3 4,5: three runs of two.
class ShardMap {
public:
  /// `count` elements, consecutive in both the global and the local tensor.
  struct Run {
    int64_t global, local, count;
  };

  /// The tensor's placement was checked by ProgramView::open.
  ShardMap(const ProgramView &program, Id placement, const std::vector<int64_t> &coordinates);

  const std::vector<int64_t> &globalShape() const { return global; }
  /// The static local shape, padding included.
  const std::vector<int64_t> &localShape() const { return local; }
  int64_t numGlobal() const { return product(global); }
  int64_t numLocal() const { return product(local); }
  /// Elements of this rank that are not padding.
  int64_t numValid() const { return valid; }
  /// Of the ranks of its stage that hold the same elements this one writes them to files.
  bool isWriter() const { return writer; }
  /// The stages that hold the tensor have parts of their own.
  bool isSplitOverStages() const { return ofStages; }

  /// The runs of indices along one dimension that this rank holds.
  std::vector<Run> runsOf(size_t dim) const {
    return dim < segments.size() ? segments[dim] : std::vector<Run>{{0, 0, global[dim]}};
  }

  /// Calls `visit(Run)` for the runs in ascending local order.
  template <typename Visit> void forEachRun(Visit visit) const {
    if (valid == 0)
      return;
    walk(0, 0, 0, visit);
  }

private:
  static int64_t product(const std::vector<int64_t> &shape) {
    int64_t result = 1;
    for (int64_t size : shape)
      result *= size;
    return result;
  }

  // `dim` counts the dimensions before the whole ones at the end, which are
  // part of every run.
  template <typename Visit>
  void walk(size_t dim, int64_t globalBase, int64_t localBase, Visit &visit) const {
    if (dim == segments.size()) {
      visit(Run{globalBase, localBase, block});
      return;
    }
    bool last = dim + 1 == segments.size();
    for (const Run &segment : segments[dim]) {
      if (last) {
        visit(Run{(globalBase + segment.global) * block, (localBase + segment.local) * block,
                  segment.count * block});
        continue;
      }
      for (int64_t i = 0; i < segment.count; ++i)
        walk(dim + 1, (globalBase + segment.global + i) * global[dim + 1],
             (localBase + segment.local + i) * local[dim + 1], visit);
    }
  }

  std::vector<int64_t> global, local;
  std::vector<std::vector<Run>> segments; // of the dimensions not whole
  int64_t block = 1;                      // elements of the whole trailing dimensions
  int64_t valid = 1;
  bool writer = true;
  bool ofStages = false;
};

/// Whether the rank of a map, which is of that stage, gives its elements of a State or Port to
/// files: of all that hold the same ones it is the first.
template <typename Tensor>
bool givesToFiles(const ProgramView &program, const Tensor &tensor, const ShardMap &map,
                  uint32_t stage) {
  if (!map.isWriter() || !program.homeOf(tensor, stage))
    return false;
  return map.isSplitOverStages() || program.firstStage(tensor) == stage;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLACEMENT_H
