// The devices of a program as a grid with named axes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_MESH_H
#define WEFT_SHARDING_MESH_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace weft {

/// What the coordinates of a mesh axis count.
enum class AxisKind {
  Space,    // processes that share the elements of a value
  Stages,   // stages of a pipeline: processes that hold different values
  Temporal, // microbatches: the same processes, one after the other
};

/// A mesh axis is named by its position in the mesh.
using AxisId = int;
/// Axes from major to minor.
using AxisList = llvm::SmallVector<AxisId, 2>;

/// Named axes with sizes. Process rank = row-major index in written order, the
/// last axis fastest. An axis written as a product is split into sub-axes:
/// `dp=4x2` has the axes `dp.0` (outer, 4) and `dp.1` (2), and "dp" names both.
///
/// On an axis of stages, of which a mesh has at most one, no value is split: it is *held* by some
/// coordinates, and the others have nothing of it (Placement::held).
///
/// A temporal axis counts microbatches: the same processes hold its shards one
/// after the other. Rules, transitions and their verification treat it as any axis;
/// but it is no part of the process rank, and what is summed or gathered over it is
/// there only after the last microbatch. Temporal axes come last.
struct Mesh {
  struct Axis {
    std::string name;
    int64_t size;
    AxisKind kind = AxisKind::Space;
    bool operator==(const Axis &other) const {
      return name == other.name && size == other.size && kind == other.kind;
    }
  };
  llvm::SmallVector<Axis, 4> axes;

  /// Reads `dp=4x2,tp=2`. On failure says in `why` what is wrong.
  static std::optional<Mesh> parse(llvm::StringRef text, std::string *why = nullptr);

  /// Points of the grid: processes, times microbatches.
  int64_t deviceCount() const;
  /// Processes: the sizes of all axes but temporal ones.
  int64_t processCount() const;
  bool isTemporal(AxisId axis) const { return axes[axis].kind == AxisKind::Temporal; }
  /// True if any of `list` is a temporal axis; only such.
  bool anyTemporal(llvm::ArrayRef<AxisId> list) const;
  bool allTemporal(llvm::ArrayRef<AxisId> list) const;
  AxisList temporalAxes() const;
  /// The axis of stages, if there is one.
  std::optional<AxisId> stageAxis() const;
  int64_t size(AxisId axis) const { return axes[axis].size; }
  /// Product of the sizes: the number of members of a group over `list`.
  int64_t groupSize(llvm::ArrayRef<AxisId> list) const;

  /// The axes that `name` stands for: the axis itself or all its sub-axes,
  /// outer first; empty if there is none.
  AxisList resolve(llvm::StringRef name) const;

  /// Coordinates of a process rank, one an axis, and back.
  llvm::SmallVector<int64_t, 4> coordinates(int64_t rank) const;
  int64_t rank(llvm::ArrayRef<int64_t> coordinates) const;

  /// Index of the device at `coordinates` within its group over `list`:
  /// row-major in the order listed.
  int64_t memberIndex(llvm::ArrayRef<AxisId> list, llvm::ArrayRef<int64_t> coordinates) const;

  bool operator==(const Mesh &other) const { return axes == other.axes; }
};

/// As `Mesh::parse` reads it: `dp=4x2,tp=2`.
std::string toString(const Mesh &mesh);

/// `"dp","tp"`.
void printAxes(const Mesh &mesh, llvm::ArrayRef<AxisId> axes, llvm::raw_ostream &os);

} // namespace weft

#endif // WEFT_SHARDING_MESH_H
