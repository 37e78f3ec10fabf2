// Shortest paths between placements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Search/Reshard.h"

#include "weft/Cost/Penalties.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <queue>

using namespace llvm;

namespace weft {

/// Seconds of one transition, as often as it happens.
static double secondsOfTransition(const CostModel &model, TransitionKind kind,
                                  ArrayRef<AxisId> axes, const Placement &from, const Placement &to,
                                  double elementBytes) {
  const Mesh &mesh = model.mesh();
  if (kind == TransitionKind::Slice || kind == TransitionKind::Mask ||
      kind == TransitionKind::Partialize)
    return model.secondsOfPenalty({}, penalty::kLocalTransition);
  if (mesh.anyTemporal(axes)) {
    // Of rows that await a sum, the sum is kept, too.
    double kept = penalty::kKeptMicrobatches * (from.partial.empty() ? 1 : 2);
    bool gathers = kind == TransitionKind::AllGather;
    return model.secondsOfPenalty({}, gathers ? kept : penalty::kAccumulation);
  }
  AxisList repeated = from.usedAxes();
  llvm::erase_if(repeated, [&](AxisId axis) { return !mesh.isTemporal(axis); });
  return mesh.groupSize(repeated) * model.seconds(kind, axes, from, to, elementBytes);
}

ReshardSearch::ReshardSearch(CostModel model) : model(std::move(model)) {}
ReshardSearch::~ReshardSearch() = default;

namespace {

/// `whole` becomes `split` when `axes` become the minor-most of one of its parts.
struct SplitEdge {
  DimPlacement whole, split;
  AxisList axes;
};

/// All edges between a dimension and what is left when axes leave it, one suffix
/// of a part after the other: the moves that can lead to or from it. Temporal axes leave it from
/// anywhere: microbatches may be counted before their shards.
SmallVector<SplitEdge> splitEdges(const Mesh &mesh, const DimPlacement &dim) {
  SmallVector<SplitEdge> edges;
  SmallVector<DimPlacement> seen = {dim};
  for (size_t next = 0; next < seen.size(); ++next) {
    DimPlacement split = seen[next];
    for (auto [index, part] : llvm::enumerate(split))
      for (size_t count = 1; count <= part.axes.size(); ++count) {
        AxisList axes(ArrayRef<AxisId>(part.axes).take_back(count));
        DimPlacement whole = withoutAxes(mesh, split, index, count);
        edges.push_back({whole, split, axes});
        if (!llvm::is_contained(seen, whole))
          seen.push_back(whole);
      }
    for (AxisId axis : mesh.temporalAxes()) {
      DimPlacement exposed = exposeAxes(mesh, split, axis);
      int part = findFactor(exposed, axis);
      if (part < 0 || findFactor(split, axis) >= 0)
        continue;
      DimPlacement whole = withoutAxes(mesh, exposed, part, 1);
      edges.push_back({whole, split, {axis}});
      if (!llvm::is_contained(seen, whole))
        seen.push_back(whole);
    }
  }
  return edges;
}

/// Search state; `parent` and `transition` tell how it was reached.
struct Node {
  Placement placement;
  double cost;
  int parent;
  ReshardTransition transition;
  bool done = false;
};

class Search {
public:
  Search(const CostModel &model, const Placement &from, const Placement &to, double elementBytes)
      : mesh(model.mesh()), model(model), to(to), elementBytes(elementBytes) {
    for (auto [dim, target] : llvm::enumerate(to.dims)) {
      splits.push_back(splitEdges(mesh, target));
      // Intermediate states may also pass through what is left of the source.
      for (SplitEdge &edge : splitEdges(mesh, from.dims[dim]))
        if (!llvm::any_of(splits.back(), [&](const SplitEdge &other) {
              return other.whole == edge.whole && other.split == edge.split;
            }))
          splits.back().push_back(std::move(edge));
    }
    Placement start = from;
    // Known padding may be forgotten for free.
    if (!to.padding)
      start.padding = std::nullopt;
    add(std::move(start), 0, -1, {});
  }

  std::unique_ptr<ReshardPlan> run() {
    while (!queue.empty()) {
      auto [cost, index] = queue.top();
      queue.pop();
      if (nodes[index].done)
        continue;
      nodes[index].done = true;
      if (nodes[index].placement == to)
        return trace(index);
      expand(index);
    }
    return nullptr;
  }

private:
  void add(Placement placement, double cost, int parent, ReshardTransition transition) {
    SmallVector<int64_t, 16> key = encode(placement);
    StringRef bytes(reinterpret_cast<const char *>(key.data()), key.size() * sizeof(int64_t));
    auto [entry, isNew] = index.try_emplace(bytes, nodes.size());
    if (isNew) {
      nodes.push_back({std::move(placement), cost, parent, std::move(transition)});
    } else {
      Node &node = nodes[entry->second];
      if (node.done || node.cost <= cost)
        return;
      node.cost = cost;
      node.parent = parent;
      node.transition = std::move(transition);
    }
    queue.push({cost, entry->second});
  }

  void tryTransition(int from, TransitionKind kind, const AxisList &axes, int dim, int otherDim,
                     Placement result) {
    if (!isPossible(mesh, kind, axes))
      return;
    const Placement &source = nodes[from].placement;
    // What other stages hold is given up with the first transition.
    if (kind != TransitionKind::Move && !(stages && allPartial(result, {*stages})) &&
        isHeldWithin(to, result))
      result.held = to.held;
    if (!hasPadding(mesh, result))
      result.padding = std::nullopt;
    else if (kind != TransitionKind::Mask)
      result.padding = to.padding && mayClaimPadding(mesh, kind, source, *to.padding)
                           ? to.padding
                           : std::nullopt;
    double bytes = model.ringBytes(kind, axes, source, result, elementBytes);
    double cost =
        nodes[from].cost + secondsOfTransition(model, kind, axes, source, result, elementBytes);
    ReshardTransition transition{kind, axes, dim, otherDim, result, bytes};
    add(std::move(result), cost, from, std::move(transition));
  }

  bool allPartial(const Placement &placement, ArrayRef<AxisId> axes) {
    return llvm::all_of(axes, [&](AxisId axis) {
      return llvm::any_of(placement.partial,
                          [&](const PartialAxis &entry) { return entry.axis == axis; });
    });
  }

  static void dropPartial(Placement &placement, ArrayRef<AxisId> axes) {
    llvm::erase_if(placement.partial,
                   [&](const PartialAxis &entry) { return llvm::is_contained(axes, entry.axis); });
  }

  void expand(int index) {
    const Placement placement = nodes[index].placement;
    AxisList used = placement.usedAxes();
    // Axes on which the target is no longer partial.
    AxisList pending;
    for (const PartialAxis &entry : placement.partial)
      if (!llvm::is_contained(to.partial, entry))
        pending.push_back(entry.axis);
    expandReductions(index, placement, pending);

    for (int dim = 0, rank = placement.dims.size(); dim < rank; ++dim) {
      for (const SplitEdge &edge : splits[dim]) {
        if (edge.split == placement.dims[dim]) {
          Placement gathered = placement;
          gathered.dims[dim] = edge.whole;
          tryTransition(index, TransitionKind::AllGather, edge.axes, dim, -1, gathered);
          expandAllToAll(index, gathered, dim, edge.axes);
        }
        if (edge.whole != placement.dims[dim])
          continue;
        Placement split = placement;
        split.dims[dim] = edge.split;
        if (!llvm::any_of(edge.axes, [&](AxisId a) { return llvm::is_contained(used, a); })) {
          tryTransition(index, TransitionKind::Slice, edge.axes, dim, -1, split);
        } else if (allPartial(placement, edge.axes) && llvm::all_of(edge.axes, [&](AxisId a) {
                     return llvm::is_contained(pending, a);
                   })) {
          dropPartial(split, edge.axes);
          tryTransition(index, TransitionKind::ReduceScatter, edge.axes, dim, -1, split);
        }
      }
    }
    expandPartial(index, placement, used);
    expandStages(index, placement);
    if (to.padding && placement.padding != to.padding && hasPadding(mesh, placement)) {
      Placement masked = placement;
      masked.padding = to.padding;
      tryTransition(index, TransitionKind::Mask, {}, -1, -1, masked);
    }
  }

  static bool isHeldOn(const Placement &placement, AxisId axis) {
    return placement.held && placement.held->axis == axis;
  }

  /// To the stages of the target, unless each holds a part of a sum.
  void expandStages(int index, const Placement &placement) {
    if (!stages || placement.held == to.held || allPartial(placement, {*stages}) ||
        allPartial(to, {*stages}))
      return;
    Placement moved = placement;
    moved.held = to.held;
    tryTransition(index, TransitionKind::Move, {*stages}, -1, -1, std::move(moved));
  }

  /// All axes at once on which the target waits for a sum and this does not.
  void expandPartial(int index, const Placement &placement, const AxisList &used) {
    Placement waiting = placement;
    AxisList axes;
    for (const PartialAxis &entry : to.partial)
      if (!llvm::is_contained(used, entry.axis) || isHeldOn(placement, entry.axis)) {
        if (isHeldOn(placement, entry.axis))
          waiting.held = std::nullopt;
        waiting.partial.push_back(entry);
        axes.push_back(entry.axis);
      }
    if (axes.empty() || waiting.partial.front().kind != waiting.partial.back().kind)
      return;
    tryTransition(index, TransitionKind::Partialize, axes, -1, -1,
                  canonicalize(mesh, std::move(waiting)));
  }

  /// All non-empty subsets of the pending axes; meshes have few axes.
  void expandReductions(int index, const Placement &placement, const AxisList &pending) {
    for (unsigned mask = 1; mask < (1u << pending.size()); ++mask) {
      AxisList axes;
      for (auto [bit, axis] : llvm::enumerate(pending))
        if (mask & (1u << bit))
          axes.push_back(axis);
      Placement reduced = placement;
      dropPartial(reduced, axes);
      tryTransition(index, TransitionKind::AllReduce, axes, -1, -1, reduced);
    }
  }

  void expandAllToAll(int index, const Placement &gathered, int otherDim, const AxisList &axes) {
    for (int dim = 0, rank = gathered.dims.size(); dim < rank; ++dim) {
      if (dim == otherDim)
        continue;
      for (const SplitEdge &edge : splits[dim]) {
        if (edge.whole != gathered.dims[dim] || edge.axes != axes)
          continue;
        Placement moved = gathered;
        moved.dims[dim] = edge.split;
        tryTransition(index, TransitionKind::AllToAll, axes, dim, otherDim, moved);
      }
    }
  }

  std::unique_ptr<ReshardPlan> trace(int index) {
    auto plan = std::make_unique<ReshardPlan>();
    plan->cost = nodes[index].cost;
    for (; nodes[index].parent >= 0; index = nodes[index].parent) {
      plan->transitions.push_back(nodes[index].transition);
      plan->bytes += nodes[index].transition.bytes;
    }
    std::reverse(plan->transitions.begin(), plan->transitions.end());
    return plan;
  }

  const Mesh &mesh;
  const CostModel &model;
  const Placement &to;
  double elementBytes;
  std::optional<AxisId> stages = mesh.stageAxis();
  SmallVector<SmallVector<SplitEdge>> splits;
  std::vector<Node> nodes;
  StringMap<int> index;
  using Entry = std::pair<double, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
};

} // namespace

std::unique_ptr<ReshardPlan> ReshardSearch::search(const Placement &from, const Placement &to,
                                                   double elementBytes) {
  if (from.localIndices != to.localIndices)
    return nullptr;
  if (!from.localIndices.empty())
    return from == to ? std::make_unique<ReshardPlan>() : nullptr;
  if (globalShape(from) != globalShape(to))
    return nullptr;
  return Search(model, from, to, elementBytes).run();
}

const ReshardPlan *ReshardSearch::plan(const Placement &from, const Placement &to,
                                       double elementBytes) {
  SmallVector<int64_t, 16> key = encode(from);
  llvm::append_range(key, encode(to));
  key.push_back(static_cast<int64_t>(elementBytes * 8));
  StringRef bytes(reinterpret_cast<const char *>(key.data()), key.size() * sizeof(int64_t));
  auto [entry, isNew] = plans.try_emplace(bytes);
  if (isNew)
    entry->second = search(from, to, elementBytes);
  return entry->second.get();
}

double ReshardSearch::cost(const Placement &from, const Placement &to, double elementBytes) {
  const ReshardPlan *found = plan(from, to, elementBytes);
  return found ? found->cost : std::numeric_limits<double>::infinity();
}

} // namespace weft
