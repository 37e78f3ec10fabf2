// The effect of each transition on placements, its geometry and its bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/Collective.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace weft {

StringRef stringifyTransitionKind(TransitionKind kind) {
  switch (kind) {
  case TransitionKind::AllGather:
    return "all_gather";
  case TransitionKind::Slice:
    return "slice";
  case TransitionKind::AllReduce:
    return "all_reduce";
  case TransitionKind::ReduceScatter:
    return "reduce_scatter";
  case TransitionKind::AllToAll:
    return "all_to_all";
  case TransitionKind::Mask:
    return "mask";
  case TransitionKind::Partialize:
    return "partialize";
  case TransitionKind::Move:
    return "move";
  }
  llvm_unreachable("unknown transition kind");
}

int findFactor(ArrayRef<PlacedFactor> dim, ArrayRef<AxisId> axes) {
  for (auto [index, part] : llvm::enumerate(dim))
    if (!axes.empty() && part.axes.size() >= axes.size() &&
        ArrayRef<AxisId>(part.axes).take_back(axes.size()) == axes)
      return index;
  return -1;
}

DimPlacement withoutAxes(const Mesh &mesh, ArrayRef<PlacedFactor> dim, int part, size_t axisCount) {
  SmallVector<PlacedFactor, 4> parts(dim);
  parts[part].axes.truncate(parts[part].axes.size() - axisCount);
  return canonicalize(mesh, parts);
}

DimPlacement exposeAxes(const Mesh &mesh, ArrayRef<PlacedFactor> dim, ArrayRef<AxisId> axes) {
  DimPlacement parts(dim);
  if (axes.empty() || findFactor(dim, axes) >= 0)
    return parts;
  for (PlacedFactor *part = parts.begin(); part != parts.end(); ++part) {
    auto *run = std::search(part->axes.begin(), part->axes.end(), axes.begin(), axes.end());
    if (run == part->axes.end())
      continue;
    AxisList major(part->axes.begin(), run + axes.size());
    int64_t devices = mesh.groupSize(major);
    if (part->size % devices != 0)
      continue;
    PlacedFactor minor{part->size / devices, AxisList(run + axes.size(), part->axes.end())};
    *part = {devices, std::move(major)};
    parts.insert(part + 1, std::move(minor));
    break;
  }
  return parts;
}

Placement gatheredOverTime(const Mesh &mesh, Placement placement) {
  for (DimPlacement &dim : placement.dims) {
    for (AxisId axis : mesh.temporalAxes())
      dim = exposeAxes(mesh, dim, axis);
    for (PlacedFactor &part : dim) {
      // Shards of microbatches that differ in size are gathered, too.
      auto *first = llvm::find_if(part.axes, [&](AxisId axis) { return mesh.isTemporal(axis); });
      part.axes.erase(first, part.axes.end());
    }
  }
  return canonicalize(mesh, std::move(placement));
}

std::optional<Combination> combinationOver(const Mesh &mesh, const Placement &placement,
                                           AxisId axis) {
  for (const PartialAxis &partial : placement.partial)
    if (partial.axis == axis)
      return Combination{TransitionKind::AllReduce};
  for (auto [index, dim] : llvm::enumerate(placement.dims))
    if (findFactor(exposeAxes(mesh, dim, axis), axis) >= 0)
      return Combination{TransitionKind::AllGather, int(index)};
  return std::nullopt;
}

static bool fail(std::string *why, const Twine &text) {
  if (why)
    *why = text.str();
  return false;
}

bool mayClaimPadding(const Mesh &mesh, TransitionKind kind, const Placement &from,
                     ReduceKind wanted) {
  if (kind == TransitionKind::Mask || !hasPadding(mesh, from))
    return true;
  if (from.padding != wanted || kind == TransitionKind::Partialize)
    return false;
  // Neutral elements combine to the neutral element of their own kind only.
  return (kind != TransitionKind::AllReduce && kind != TransitionKind::ReduceScatter) ||
         from.partial.front().kind == wanted;
}

bool isPossible(const Mesh &mesh, TransitionKind kind, ArrayRef<AxisId> axes) {
  std::optional<AxisId> stages = mesh.stageAxis();
  bool overStages = stages && llvm::is_contained(axes, *stages);
  if (kind == TransitionKind::Move)
    return overStages && axes.size() == 1;
  if (overStages && kind != TransitionKind::AllReduce && kind != TransitionKind::Partialize)
    return false;
  if (!mesh.anyTemporal(axes) || kind == TransitionKind::Partialize)
    return true;
  return mesh.allTemporal(axes) &&
         (kind == TransitionKind::Slice || kind == TransitionKind::AllReduce ||
          kind == TransitionKind::AllGather);
}

/// Removes `axes` from the minor end of a part of `placement.dims[dim]`.
static bool gatherDim(const Mesh &mesh, Placement &placement, int dim, ArrayRef<AxisId> axes,
                      std::string *why) {
  DimPlacement exposed = exposeAxes(mesh, placement.dims[dim], axes);
  int part = findFactor(exposed, axes);
  if (part < 0) {
    std::string text;
    raw_string_ostream os(text);
    printAxes(mesh, axes, os);
    os << " are not the minor-most axes of a part of dim " << dim << ", placed as ";
    printDim(mesh, placement.dims[dim], os);
    return fail(why, text);
  }
  placement.dims[dim] = withoutAxes(mesh, exposed, part, axes.size());
  return true;
}

static bool removePartial(const Mesh &mesh, Placement &placement, ArrayRef<AxisId> axes,
                          std::string *why) {
  for (AxisId axis : axes) {
    auto *found = llvm::find_if(placement.partial,
                                [&](const PartialAxis &entry) { return entry.axis == axis; });
    if (found == placement.partial.end())
      return fail(why, "the input is not partial on axis \"" + mesh.axes[axis].name + "\"");
    placement.partial.erase(found);
  }
  return true;
}

/// Whether a transition of this kind is along dims, and not of all elements alike.
static bool cutsDim(TransitionKind kind) {
  return kind == TransitionKind::AllGather || kind == TransitionKind::Slice ||
         kind == TransitionKind::ReduceScatter || kind == TransitionKind::AllToAll;
}

/// Why a transition that is not possible over these axes is not.
static StringRef refusalOf(const Mesh &mesh, ArrayRef<AxisId> axes) {
  if (mesh.allTemporal(axes))
    return " cannot run over microbatches";
  if (mesh.anyTemporal(axes))
    return " mixes axes of space and time";
  return " cannot run over these axes: stages hold whole values, which are moved or combined";
}

/// Any transition may leave stages out; only a move, or a sum over stages, brings a value to
/// others.
static bool checkStages(const Mesh &mesh, TransitionKind kind, ArrayRef<AxisId> axes,
                        const Placement &from, const Placement &to, std::string *why) {
  bool isWithin = isHeldWithin(to, from);
  if (kind == TransitionKind::Move)
    return from.held != to.held || fail(why, "input and result are on the same stages");
  bool fillsOthers =
      kind == TransitionKind::Partialize && from.held && llvm::is_contained(axes, from.held->axis);
  return isWithin || fillsOthers ||
         fail(why, "the result is on stages that do not hold the input: from " +
                       toString(mesh, from) + " to " + toString(mesh, to));
}

bool checkTransition(const Mesh &mesh, TransitionKind kind, ArrayRef<AxisId> axes, int dim,
                     int otherDim, const Placement &from, const Placement &to, std::string *why) {
  if (from.dims.size() != to.dims.size())
    return fail(why, "input and result differ in tensor rank");
  if (!from.localIndices.empty() || !to.localIndices.empty())
    return fail(why, "local indices cannot change their placement");
  bool hasDim = cutsDim(kind);
  int tensorRank = from.dims.size();
  if (hasDim && (dim < 0 || dim >= tensorRank))
    return fail(why, "dim " + Twine(dim) + " is not below the tensor rank " + Twine(tensorRank));
  if (kind == TransitionKind::AllToAll &&
      (otherDim < 0 || otherDim >= tensorRank || otherDim == dim))
    return fail(why, "needs two distinct dims below the tensor rank " + Twine(tensorRank));
  if (axes.empty() != (kind == TransitionKind::Mask))
    return fail(why, kind == TransitionKind::Mask ? "takes no axes" : "needs at least one axis");

  if (!isPossible(mesh, kind, axes))
    return fail(why, Twine(stringifyTransitionKind(kind)) + refusalOf(mesh, axes));

  if (!checkStages(mesh, kind, axes, from, to, why))
    return false;

  // Bring both sides to a form in which they must be equal: gather in `a` what
  // the transition gathers, and in `b` what it splits.
  Placement a = from, b = to;
  a.padding = b.padding = std::nullopt;
  a.held = b.held = std::nullopt;
  switch (kind) {
  case TransitionKind::AllGather:
    if (!gatherDim(mesh, a, dim, axes, why))
      return false;
    break;
  case TransitionKind::Slice:
    if (!gatherDim(mesh, b, dim, axes, why))
      return false;
    break;
  case TransitionKind::AllReduce:
    if (!removePartial(mesh, a, axes, why))
      return false;
    break;
  case TransitionKind::ReduceScatter:
    if (!removePartial(mesh, a, axes, why) || !gatherDim(mesh, b, dim, axes, why))
      return false;
    break;
  case TransitionKind::AllToAll:
    if (!gatherDim(mesh, a, otherDim, axes, why) || !gatherDim(mesh, b, dim, axes, why))
      return false;
    break;
  case TransitionKind::Partialize: {
    std::string text;
    if (!removePartial(mesh, b, axes, &text))
      return fail(why, "the result is not partial on all axes of the transition");
    break;
  }
  case TransitionKind::Mask:
    if (!to.padding)
      return fail(why, "the result must have padding and name what it holds");
    break;
  case TransitionKind::Move:
    break;
  }
  if (a != b)
    return fail(why, "result is placed as " + toString(mesh, to) + ", which " +
                         stringifyTransitionKind(kind) + " does not make of " +
                         toString(mesh, from));
  if (to.padding && !mayClaimPadding(mesh, kind, from, *to.padding))
    return fail(why, "the padding of the input is not neutral for " +
                         stringifyReduceKind(*to.padding) + ", so that of the result is not");
  return true;
}

/// Elements before and after part `part` of dim `dim` in the local tensor.
static void surroundings(const Mesh &mesh, const Placement &placement, int dim, int part,
                         int64_t &outer, int64_t &inner) {
  outer = inner = 1;
  for (auto [d, parts] : llvm::enumerate(placement.dims))
    for (auto [p, entry] : llvm::enumerate(parts)) {
      std::pair<int, int> here(d, p), there(dim, part);
      if (here < there)
        outer *= localSize(mesh, entry);
      else if (here > there)
        inner *= localSize(mesh, entry);
    }
}

/// Local extent of a part before its `axisCount` minor-most axes split it.
static int64_t extentBefore(const Mesh &mesh, PlacedFactor part, size_t axisCount) {
  part.axes.truncate(part.axes.size() - axisCount);
  return localSize(mesh, part);
}

/// Of the stages that hold a value, the nearest to `stage`; of two, the lower.
static int64_t nearestStage(const Placement &placement, int64_t stage) {
  if (!placement.held)
    return stage;
  return *llvm::min_element(placement.held->stages, [&](int64_t a, int64_t b) {
    return std::abs(a - stage) < std::abs(b - stage);
  });
}

CollectiveGeometry geometryOf(const Mesh &mesh, TransitionKind kind, ArrayRef<AxisId> axes, int dim,
                              int otherDim, const Placement &from, const Placement &to) {
  CollectiveGeometry geometry;
  geometry.kind = kind;
  geometry.axes.assign(axes.begin(), axes.end());
  geometry.padding = to.padding;
  if (kind == TransitionKind::AllReduce || kind == TransitionKind::ReduceScatter)
    geometry.reduction = from.partial.front().kind;
  if (kind == TransitionKind::Partialize) {
    geometry.reduction = to.partial.front().kind;
    SmallVector<int64_t, 4> first(mesh.axes.size(), 0);
    if (from.held && llvm::is_contained(axes, from.held->axis))
      first[from.held->axis] = from.held->stages.front();
    geometry.keeper = mesh.memberIndex(axes, first);
  }
  if (kind == TransitionKind::Move)
    for (int64_t stage = 0; stage < mesh.size(axes.front()); ++stage)
      geometry.sources.push_back(!to.held || to.held->contains(stage) ? nearestStage(from, stage)
                                                                      : -1);
  if (!cutsDim(kind)) {
    for (int64_t size : localShape(mesh, from))
      geometry.extent *= size;
    geometry.shard = geometry.extent;
    return geometry;
  }
  // The side on which `dim` is split tells the part.
  Placement split = kind == TransitionKind::AllGather ? from : to;
  split.dims[dim] = exposeAxes(mesh, split.dims[dim], axes);
  int part = findFactor(split.dims[dim], axes);
  surroundings(mesh, split, dim, part, geometry.outer, geometry.inner);
  geometry.extent = extentBefore(mesh, split.dims[dim][part], axes.size());
  geometry.shard = localSize(mesh, split.dims[dim][part]);
  if (kind != TransitionKind::AllToAll)
    return geometry;

  Placement gathered = from;
  gathered.dims[otherDim] = exposeAxes(mesh, from.dims[otherDim], axes);
  int otherPart = findFactor(gathered.dims[otherDim], axes);
  geometry.otherExtent = extentBefore(mesh, gathered.dims[otherDim][otherPart], axes.size());
  geometry.otherShard = localSize(mesh, gathered.dims[otherDim][otherPart]);
  geometry.gatherFirst = otherDim < dim;
  // Dims other than the two are placed alike on both sides, and so are the
  // other parts of the two.
  int64_t otherOuter, otherInner;
  surroundings(mesh, gathered, otherDim, otherPart, otherOuter, otherInner);
  int64_t firstOuter = geometry.gatherFirst ? otherOuter : geometry.outer;
  int64_t lastInner = geometry.gatherFirst ? geometry.inner : otherInner;
  int64_t total = 1;
  for (int64_t size : localShape(mesh, from))
    total *= size;
  int64_t used = firstOuter * lastInner * geometry.extent * geometry.otherShard;
  geometry.middle = used == 0 ? 0 : total / used;
  geometry.outer = firstOuter;
  geometry.inner = lastInner;
  return geometry;
}

} // namespace weft
