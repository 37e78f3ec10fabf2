// The effect of each transition between two placements on a tensor, and its geometry.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_COLLECTIVE_H
#define WEFT_SHARDING_COLLECTIVE_H

#include "weft/Sharding/Placement.h"

namespace weft {

/// One transition from a placement to another.
enum class TransitionKind {
  /// Concatenates the shards along `axes`, the minor-most axes of a part of
  /// `dim`: they leave the placement.
  AllGather,
  /// Keeps this device's shard: `axes` become the minor-most of a part of `dim`.
  Slice,
  /// Combines a value that is partial on `axes`; every device gets all of it.
  AllReduce,
  /// The same, and each device keeps its shard along `dim`.
  ReduceScatter,
  /// Gathers `axes` out of `otherDim` and splits `dim` over them instead.
  AllToAll,
  /// Sets the padding to a neutral element. No communication.
  Mask,
  /// Makes a value partial on `axes`: the first device keeps it, the others hold
  /// neutral elements. No communication. So a value that all devices hold can join
  /// a sum that is still due, and both need one reduction. Of a value that some stages hold, the
  /// first of these keeps it if the axis of stages is among `axes`.
  Partialize,
  /// Takes a value to other stages: those that do not hold it get it from the nearest that does, of
  /// two the lower; those that the result leaves out give it up. `axes` is the axis of stages.
  Move,
};
llvm::StringRef stringifyTransitionKind(TransitionKind kind);

/// The factor of `dim` whose minor-most axes are `axes`, in that order, or -1.
int findFactor(llvm::ArrayRef<PlacedFactor> dim, llvm::ArrayRef<AxisId> axes);
/// The dimension after those axes leave that factor; canonical.
DimPlacement withoutAxes(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim, int part,
                         size_t axisCount);
/// The same layout, written such that `axes` are the minor-most of a factor, if they can be:
/// with two devices along `a`, `8{"a","b"}` is also `2{"a"} * 4{"b"}`. Not canonical.
DimPlacement exposeAxes(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim,
                        llvm::ArrayRef<AxisId> axes);

/// `placement` once its value is of all microbatches: no dim is split over time.
Placement gatheredOverTime(const Mesh &mesh, Placement placement);

/// How what the microbatches along a temporal axis make becomes one value: sums (AllReduce) if it
/// is partial on the axis, rows (AllGather) if the axis splits a dim; nothing if it is the same in
/// all of them, or the axis cannot leave the dim.
struct Combination {
  TransitionKind kind;
  int dim = -1; // AllGather: the one that is gathered
};
std::optional<Combination> combinationOver(const Mesh &mesh, const Placement &placement,
                                           AxisId axis);

/// Judges one transition between two canonical placements, the one truth for the
/// search, the verifier of ops, and the SPMD verifier: true if `to` is what
/// the transition makes of `from`; else `why` says what differs.
bool checkTransition(const Mesh &mesh, TransitionKind kind, llvm::ArrayRef<AxisId> axes, int dim,
                     int otherDim, const Placement &from, const Placement &to,
                     std::string *why = nullptr);

/// Whether a transition over these axes can happen at all: over a temporal axis values are sliced,
/// accumulated (all_reduce) and put together (all_gather); over stages they are moved and combined,
/// never cut; and no transition mixes space and time, because they are different commands.
bool isPossible(const Mesh &mesh, TransitionKind kind, llvm::ArrayRef<AxisId> axes);

/// The padding state that a transition may claim for its result, which has padding:
/// it fills what padding it makes with the neutral element of `wanted`, and
/// keeps what was there.
bool mayClaimPadding(const Mesh &mesh, TransitionKind kind, const Placement &from,
                     ReduceKind wanted);

/// The transition as the runtime's command sees it: contiguous tensors
/// [outer, extent, inner], where `extent` is split over the group by ceiling
/// division; for AllToAll two such dims around `middle`.
struct CollectiveGeometry {
  TransitionKind kind;
  AxisList axes;
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t middle = 1, otherExtent = 1; // AllToAll: the gathered dimension
  bool gatherFirst = false;            // AllToAll: it stands before the split one
  std::optional<ReduceKind> reduction; // AllReduce, ReduceScatter
  std::optional<ReduceKind> padding;   // neutral element that fills new padding
  /// Elements of one shard of `extent`, of `otherExtent`.
  int64_t shard = 1, otherShard = 1;
  int64_t keeper = 0; // Partialize: the member that keeps the value
  /// Move: by stage, the stage that it has the value from, itself if it held it before; -1 if it
  /// does not hold the result.
  llvm::SmallVector<int64_t, 4> sources;
};
CollectiveGeometry geometryOf(const Mesh &mesh, TransitionKind kind, llvm::ArrayRef<AxisId> axes,
                              int dim, int otherDim, const Placement &from, const Placement &to);

} // namespace weft

#endif // WEFT_SHARDING_COLLECTIVE_H
