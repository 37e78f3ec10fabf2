// Where the elements of one tensor lie on a mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_PLACEMENT_H
#define WEFT_SHARDING_PLACEMENT_H

#include "weft/Interfaces/FactorRule.h"
#include "weft/Sharding/Mesh.h"

namespace weft {

/// One factor of a dimension, split over `axes` (major to minor) by successive
/// ceiling division: level i cuts the local extent of level i-1 into pieces of
/// ceil(extent / axis size). The last pieces may be short or empty; the local
/// extent is static and the rest of it is padding.
/// Example: 10 over axes of sizes 2, 2 -> 5 -> 3: [0,3) [3,5) [5,8) [8,10).
/// The runtime's PlacementPart is the same definition.
struct PlacedFactor {
  int64_t size = 1;
  AxisList axes;
  bool operator==(const PlacedFactor &other) const {
    return size == other.size && axes == other.axes;
  }
};

/// A dimension as a row-major product of factors, major to minor; the sizes
/// multiply to the dimension's size. The fused query/key/value dimension of
/// GPT-2, split on heads, is `3 * 768{"tp"}`: each device holds its heads of all
/// three. Never empty.
using DimPlacement = llvm::SmallVector<PlacedFactor, 1>;

/// The value is the combination by `kind` of what the devices along `axis` hold.
struct PartialAxis {
  AxisId axis;
  ReduceKind kind;
  bool operator==(const PartialAxis &other) const {
    return axis == other.axis && kind == other.kind;
  }
};

/// The elements of component `component` of an index tensor are positions
/// within this device's shard of a factor laid out as `factor`, and -1 where
/// the position lies on another device.
struct LocalIndex {
  int component;
  DimPlacement factor;
  bool operator==(const LocalIndex &other) const {
    return component == other.component && factor == other.factor;
  }
};

/// The coordinates on the mesh axis of stages whose devices hold a value. The others have nothing
/// of it, not even room.
struct Held {
  AxisId axis;
  llvm::SmallVector<int64_t, 0> stages; // ascending
  bool contains(int64_t stage) const { return llvm::is_contained(stages, stage); }
  bool operator==(const Held &other) const { return axis == other.axis && stages == other.stages; }
  bool operator!=(const Held &other) const { return !(*this == other); }
};

/// A placement in canonical form (see canonicalize), so that equal layouts
/// compare equal. A mesh axis appears at most once in `dims`, `partial` and `held`; on
/// axes that do not appear the value is replicated.
struct Placement {
  llvm::SmallVector<DimPlacement, 4> dims;
  /// Sorted by axis; all of one kind, because sum and max do not commute.
  llvm::SmallVector<PartialAxis, 1> partial;
  /// The contents of the padding: the neutral element of a reduction, or anything.
  std::optional<ReduceKind> padding;
  /// Sorted by component; only index tensors in `local` have any.
  llvm::SmallVector<LocalIndex, 0> localIndices;
  /// Absent: all stages hold the value, or each its part of a partial one.
  std::optional<Held> held;

  bool operator==(const Placement &other) const {
    return dims == other.dims && partial == other.partial && padding == other.padding &&
           localIndices == other.localIndices && held == other.held;
  }
  bool operator!=(const Placement &other) const { return !(*this == other); }

  /// The whole tensor on every device.
  static Placement replicated(llvm::ArrayRef<int64_t> shape);
  /// The axes of dims, partial and held, unordered.
  AxisList usedAxes() const;
  bool isReplicated() const;
};

/// The canonical form of a dimension: axes of size 1 and factors of size 1 are
/// dropped, and neighbours merge where the product has the same layout:
/// unsharded ones; `12{"tp"} * 64` to `768{"tp"}` if tp divides 12; and
/// `2{"a"} * 6{"b"}` to `12{"a","b"}` if a has 2 devices.
DimPlacement canonicalize(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> parts);
/// Canonical dims; drops partial axes of size 1, `padding` if there is none, and `held` if it names
/// all stages.
Placement canonicalize(const Mesh &mesh, Placement placement);

/// True if axes are on the mesh, none appears twice, none of stages splits a dim, held stages
/// exist, sizes multiply to `shape` and partial kinds agree; else says in `why` what is wrong.
bool verifyPlacement(const Mesh &mesh, const Placement &placement, llvm::ArrayRef<int64_t> shape,
                     std::string *why = nullptr);

/// Whether the device at `coordinates` holds the value.
bool isHeldAt(const Placement &placement, llvm::ArrayRef<int64_t> coordinates);
/// Whether all devices that hold `inner` hold `outer`.
bool isHeldWithin(const Placement &inner, const Placement &outer);

/// Static local extents.
int64_t localSize(const Mesh &mesh, const PlacedFactor &part);
int64_t localSize(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim);
int64_t globalSize(llvm::ArrayRef<PlacedFactor> dim);
llvm::SmallVector<int64_t, 4> localShape(const Mesh &mesh, const Placement &placement);
llvm::SmallVector<int64_t, 4> globalShape(const Placement &placement);

/// True if some device holds fewer elements than the local extent.
bool hasPadding(const Mesh &mesh, const PlacedFactor &part);
bool hasPadding(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim);
bool hasPadding(const Mesh &mesh, const Placement &placement);

/// The global position of local position `local` on the device at
/// `coordinates`, or -1 if that is padding; and the local position of `global`,
/// or -1 if the device does not hold it.
int64_t toGlobal(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim,
                 llvm::ArrayRef<int64_t> coordinates, int64_t local);
int64_t toLocal(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim,
                llvm::ArrayRef<int64_t> coordinates, int64_t global);

/// `8{"tp"}`, `3*768{"tp"}`, and `[8{"tp"}, 16], partial = sum["dp"], padding = sum,
/// held = "pp"[0,3]`.
void printDim(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim, llvm::raw_ostream &os);
void print(const Mesh &mesh, const Placement &placement, llvm::raw_ostream &os);
std::string toString(const Mesh &mesh, const Placement &placement);

/// The placement as a list of integers: a key for hashing, and how attributes
/// store it. decode(encode(p)) == p.
llvm::SmallVector<int64_t, 16> encode(const Placement &placement);
Placement decodePlacement(llvm::ArrayRef<int64_t> data);

} // namespace weft

#endif // WEFT_SHARDING_PLACEMENT_H
