// Canonical forms, local extents and position arithmetic of placements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/Placement.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace weft {

Placement Placement::replicated(ArrayRef<int64_t> shape) {
  Placement placement;
  for (int64_t size : shape)
    placement.dims.push_back({PlacedFactor{size, {}}});
  return placement;
}

AxisList Placement::usedAxes() const {
  AxisList used;
  for (const DimPlacement &dim : dims)
    for (const PlacedFactor &part : dim)
      llvm::append_range(used, part.axes);
  for (const PartialAxis &axis : partial)
    used.push_back(axis.axis);
  if (held)
    used.push_back(held->axis);
  return used;
}

bool Placement::isReplicated() const { return usedAxes().empty() && localIndices.empty(); }

static int64_t ceilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// True if every device of the part's group holds equally many elements.
static bool dividesEvenly(const Mesh &mesh, const PlacedFactor &part) {
  return part.size % mesh.groupSize(part.axes) == 0;
}

/// Merges `next` into `last`, its major neighbour, if that keeps the layout.
static bool tryMerge(const Mesh &mesh, PlacedFactor &last, const PlacedFactor &next) {
  bool lastConsumed = last.size == mesh.groupSize(last.axes);
  // Each device holds a contiguous run of `last`; whole rows of `next` make it
  // a contiguous run of the product.
  bool evenRows = next.axes.empty() && dividesEvenly(mesh, last);
  if (!lastConsumed && !evenRows)
    return false;
  last.size *= next.size;
  llvm::append_range(last.axes, next.axes);
  return true;
}

DimPlacement canonicalize(const Mesh &mesh, ArrayRef<PlacedFactor> parts) {
  DimPlacement result;
  for (const PlacedFactor &original : parts) {
    PlacedFactor part{original.size, {}};
    for (AxisId axis : original.axes)
      if (mesh.size(axis) > 1)
        part.axes.push_back(axis);
    if (part.size == 1 && part.axes.empty())
      continue;
    if (result.empty() || !tryMerge(mesh, result.back(), part))
      result.push_back(part);
  }
  if (result.empty())
    result.push_back(PlacedFactor());
  return result;
}

Placement canonicalize(const Mesh &mesh, Placement placement) {
  for (DimPlacement &dim : placement.dims)
    dim = canonicalize(mesh, dim);
  for (LocalIndex &index : placement.localIndices)
    index.factor = canonicalize(mesh, index.factor);
  llvm::erase_if(placement.partial,
                 [&](const PartialAxis &axis) { return mesh.size(axis.axis) == 1; });
  llvm::sort(placement.partial,
             [](const PartialAxis &a, const PartialAxis &b) { return a.axis < b.axis; });
  llvm::sort(placement.localIndices,
             [](const LocalIndex &a, const LocalIndex &b) { return a.component < b.component; });
  if (placement.padding && !hasPadding(mesh, placement))
    placement.padding = std::nullopt;
  if (placement.held) {
    auto &stages = placement.held->stages;
    llvm::sort(stages);
    stages.erase(llvm::unique(stages), stages.end());
    if (static_cast<int64_t>(stages.size()) == mesh.size(placement.held->axis))
      placement.held = std::nullopt;
  }
  return placement;
}

/// Why these stages cannot hold a value; empty if they can.
static std::string refuseHeld(const Mesh &mesh, const Held &held) {
  const Mesh::Axis &axis = mesh.axes[held.axis];
  if (axis.kind != AxisKind::Stages)
    return "axis \"" + axis.name + "\" counts no stages, so that no value is held by some of it";
  if (held.stages.empty())
    return "no stage of axis \"" + axis.name + "\" holds the value";
  for (int64_t stage : held.stages)
    if (stage < 0 || stage >= axis.size)
      return "stage " + std::to_string(stage) + " is not among the " + std::to_string(axis.size) +
             " of axis \"" + axis.name + "\"";
  return "";
}

bool verifyPlacement(const Mesh &mesh, const Placement &placement, ArrayRef<int64_t> shape,
                     std::string *why) {
  auto fail = [&](const Twine &text) {
    if (why)
      *why = text.str();
    return false;
  };
  if (placement.dims.size() != shape.size())
    return fail("placement has " + Twine(placement.dims.size()) + " dims, tensor rank is " +
                Twine(shape.size()));
  SmallVector<bool> seen(mesh.axes.size(), false);
  for (AxisId axis : placement.usedAxes()) {
    if (axis < 0 || axis >= static_cast<AxisId>(mesh.axes.size()))
      return fail("axis number " + Twine(axis) + " is not on the mesh");
    if (seen[axis])
      return fail("axis \"" + mesh.axes[axis].name + "\" appears twice");
    seen[axis] = true;
  }
  if (placement.held)
    if (std::string text = refuseHeld(mesh, *placement.held); !text.empty())
      return fail(text);
  for (auto [index, dim, size] : llvm::enumerate(placement.dims, shape)) {
    for (const PlacedFactor &part : dim)
      if (part.size < 0 || (part.size == 0 && !part.axes.empty()))
        return fail("dim " + Twine(index) + " splits a part without elements");
    for (const PlacedFactor &part : dim)
      for (AxisId axis : part.axes)
        if (mesh.axes[axis].kind == AxisKind::Stages)
          return fail("dim " + Twine(index) + " is split over axis \"" + mesh.axes[axis].name +
                      "\" of stages, which hold whole values or nothing");
    if (globalSize(dim) != size)
      return fail("parts of dim " + Twine(index) + " multiply to " + Twine(globalSize(dim)) +
                  ", its size is " + Twine(size));
  }
  for (const PartialAxis &axis : placement.partial)
    if (axis.kind != placement.partial.front().kind)
      return fail("partial axes of different kinds do not commute");
  return true;
}

bool isHeldAt(const Placement &placement, ArrayRef<int64_t> coordinates) {
  return !placement.held || placement.held->contains(coordinates[placement.held->axis]);
}

bool isHeldWithin(const Placement &inner, const Placement &outer) {
  if (!outer.held)
    return true;
  return inner.held && llvm::all_of(inner.held->stages,
                                    [&](int64_t stage) { return outer.held->contains(stage); });
}

int64_t localSize(const Mesh &mesh, const PlacedFactor &part) {
  int64_t size = part.size;
  for (AxisId axis : part.axes)
    size = ceilDiv(size, mesh.size(axis));
  return size;
}

int64_t localSize(const Mesh &mesh, ArrayRef<PlacedFactor> dim) {
  int64_t size = 1;
  for (const PlacedFactor &part : dim)
    size *= localSize(mesh, part);
  return size;
}

int64_t globalSize(ArrayRef<PlacedFactor> dim) {
  int64_t size = 1;
  for (const PlacedFactor &part : dim)
    size *= part.size;
  return size;
}

SmallVector<int64_t, 4> localShape(const Mesh &mesh, const Placement &placement) {
  SmallVector<int64_t, 4> shape;
  for (const DimPlacement &dim : placement.dims)
    shape.push_back(localSize(mesh, dim));
  return shape;
}

SmallVector<int64_t, 4> globalShape(const Placement &placement) {
  SmallVector<int64_t, 4> shape;
  for (const DimPlacement &dim : placement.dims)
    shape.push_back(globalSize(dim));
  return shape;
}

bool hasPadding(const Mesh &mesh, const PlacedFactor &part) { return !dividesEvenly(mesh, part); }

bool hasPadding(const Mesh &mesh, ArrayRef<PlacedFactor> dim) {
  return llvm::any_of(dim, [&](const PlacedFactor &part) { return hasPadding(mesh, part); });
}

bool hasPadding(const Mesh &mesh, const Placement &placement) {
  return llvm::any_of(placement.dims,
                      [&](const DimPlacement &dim) { return hasPadding(mesh, dim); });
}

/// Extents before each level of the split, then the local extent.
static SmallVector<int64_t, 4> levelExtents(const Mesh &mesh, const PlacedFactor &part) {
  SmallVector<int64_t, 4> extents = {part.size};
  for (AxisId axis : part.axes)
    extents.push_back(ceilDiv(extents.back(), mesh.size(axis)));
  return extents;
}

int64_t toGlobal(const Mesh &mesh, ArrayRef<PlacedFactor> dim, ArrayRef<int64_t> coordinates,
                 int64_t local) {
  int64_t global = 0, scale = 1;
  for (const PlacedFactor &part : llvm::reverse(dim)) {
    SmallVector<int64_t, 4> extents = levelExtents(mesh, part);
    int64_t position = local % extents.back();
    local /= extents.back();
    for (size_t level = part.axes.size(); level-- > 0;) {
      position += coordinates[part.axes[level]] * extents[level + 1];
      if (position >= extents[level])
        return -1;
    }
    global += position * scale;
    scale *= part.size;
  }
  return global;
}

int64_t toLocal(const Mesh &mesh, ArrayRef<PlacedFactor> dim, ArrayRef<int64_t> coordinates,
                int64_t global) {
  if (global < 0 || global >= globalSize(dim))
    return -1;
  int64_t local = 0, scale = 1;
  for (const PlacedFactor &part : llvm::reverse(dim)) {
    SmallVector<int64_t, 4> extents = levelExtents(mesh, part);
    int64_t position = global % part.size;
    global /= part.size;
    for (auto [level, axis] : llvm::enumerate(part.axes)) {
      if (position / extents[level + 1] != coordinates[axis])
        return -1;
      position %= extents[level + 1];
    }
    local += position * scale;
    scale *= extents.back();
  }
  return local;
}

void printDim(const Mesh &mesh, ArrayRef<PlacedFactor> dim, raw_ostream &os) {
  llvm::interleave(
      dim, os,
      [&](const PlacedFactor &part) {
        os << part.size;
        if (part.axes.empty())
          return;
        os << '{';
        printAxes(mesh, part.axes, os);
        os << '}';
      },
      "*");
}

void print(const Mesh &mesh, const Placement &placement, raw_ostream &os) {
  os << '[';
  llvm::interleaveComma(placement.dims, os,
                        [&](const DimPlacement &dim) { printDim(mesh, dim, os); });
  os << ']';
  if (!placement.partial.empty()) {
    os << ", partial = " << stringifyReduceKind(placement.partial.front().kind) << '[';
    AxisList axes;
    for (const PartialAxis &axis : placement.partial)
      axes.push_back(axis.axis);
    printAxes(mesh, axes, os);
    os << ']';
  }
  if (placement.padding)
    os << ", padding = " << stringifyReduceKind(*placement.padding);
  if (!placement.localIndices.empty()) {
    os << ", local_indices = [";
    llvm::interleaveComma(placement.localIndices, os, [&](const LocalIndex &index) {
      os << index.component << " : ";
      printDim(mesh, index.factor, os);
    });
    os << ']';
  }
  if (placement.held) {
    os << ", held = \"" << mesh.axes[placement.held->axis].name << "\"[";
    llvm::interleave(placement.held->stages, os, ",");
    os << ']';
  }
}

std::string toString(const Mesh &mesh, const Placement &placement) {
  std::string text;
  raw_string_ostream os(text);
  print(mesh, placement, os);
  return text;
}

static void encodeDim(const DimPlacement &dim, SmallVectorImpl<int64_t> &data) {
  data.push_back(dim.size());
  for (const PlacedFactor &part : dim) {
    data.push_back(part.size);
    data.push_back(part.axes.size());
    llvm::append_range(data, part.axes);
  }
}

SmallVector<int64_t, 16> encode(const Placement &placement) {
  SmallVector<int64_t, 16> data;
  data.push_back(placement.dims.size());
  for (const DimPlacement &dim : placement.dims)
    encodeDim(dim, data);
  data.push_back(placement.partial.size());
  for (const PartialAxis &axis : placement.partial) {
    data.push_back(axis.axis);
    data.push_back(static_cast<int64_t>(axis.kind));
  }
  data.push_back(placement.padding ? static_cast<int64_t>(*placement.padding) : -1);
  data.push_back(placement.localIndices.size());
  for (const LocalIndex &index : placement.localIndices) {
    data.push_back(index.component);
    encodeDim(index.factor, data);
  }
  data.push_back(placement.held ? placement.held->stages.size() : 0);
  if (placement.held) {
    data.push_back(placement.held->axis);
    llvm::append_range(data, placement.held->stages);
  }
  return data;
}

Placement decodePlacement(ArrayRef<int64_t> data) {
  auto next = [&] {
    int64_t value = data.front();
    data = data.drop_front();
    return value;
  };
  auto nextDim = [&] {
    DimPlacement dim(next());
    for (PlacedFactor &part : dim) {
      part.size = next();
      for (int64_t count = next(); count > 0; --count)
        part.axes.push_back(next());
    }
    return dim;
  };
  Placement placement;
  for (int64_t count = next(); count > 0; --count)
    placement.dims.push_back(nextDim());
  for (int64_t count = next(); count > 0; --count) {
    AxisId axis = next();
    placement.partial.push_back({axis, static_cast<ReduceKind>(next())});
  }
  if (int64_t padding = next(); padding >= 0)
    placement.padding = static_cast<ReduceKind>(padding);
  for (int64_t count = next(); count > 0; --count) {
    int component = next();
    placement.localIndices.push_back({component, nextDim()});
  }
  if (int64_t count = next(); count > 0) {
    placement.held = Held{static_cast<AxisId>(next()), {}};
    for (; count > 0; --count)
      placement.held->stages.push_back(next());
  }
  return placement;
}

} // namespace weft
