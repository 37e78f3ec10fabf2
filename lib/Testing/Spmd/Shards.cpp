// Distribution, collectives and assembly on plain host tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/Spmd/Shards.h"

#include "weft/Interfaces/Reduction.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace weft {

static Scalar poison(mlir::Type type) {
  Scalar scalar;
  scalar.real = std::nan("");
  scalar.integer = 0x7a7a7a7a7a7a7a7a;
  return isa<mlir::FloatType>(type) ? scalar : roundToType(scalar, type);
}

/// Calls `visit(linear local index, linear global index or -1)` for each local
/// element of the device at `coordinates`.
static void forEachElement(const Mesh &mesh, const Placement &placement,
                           ArrayRef<int64_t> coordinates,
                           llvm::function_ref<void(int64_t, int64_t)> visit) {
  SmallVector<int64_t, 4> shape = localShape(mesh, placement);
  SmallVector<int64_t, 4> globalStrides = rowMajorStrides(globalShape(placement));
  // Per dim: the global position of each local one.
  SmallVector<SmallVector<int64_t>> positions;
  int64_t count = 1;
  for (auto [dim, size] : llvm::zip_equal(placement.dims, shape)) {
    SmallVector<int64_t> line;
    for (int64_t i = 0; i < size; ++i)
      line.push_back(toGlobal(mesh, dim, coordinates, i));
    positions.push_back(std::move(line));
    count *= size;
  }
  for (int64_t linear = 0; linear < count; ++linear) {
    int64_t rest = linear, global = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      int64_t position = positions[d][rest % shape[d]];
      rest /= shape[d];
      global = position < 0 || global < 0 ? -1 : global + position * globalStrides[d];
    }
    visit(linear, global);
  }
}

static HostTensor emptyTensor(ArrayRef<int64_t> shape, mlir::Type elementType) {
  return HostTensor(mlir::RankedTensorType::get(shape, elementType));
}

static mlir::Type elementTypeOf(const Shards &shards) {
  return llvm::find_if_not(shards, isAbsent)->elementType;
}

Shards distribute(const Mesh &mesh, const Placement &placement, const HostTensor &global) {
  Shards shards;
  mlir::Type type = global.elementType;
  SmallVector<int64_t, 4> shape = localShape(mesh, placement);
  for (int64_t rank = 0, end = mesh.deviceCount(); rank < end; ++rank) {
    SmallVector<int64_t, 4> coordinates = mesh.coordinates(rank);
    if (!isHeldAt(placement, coordinates)) {
      shards.emplace_back();
      continue;
    }
    bool first = llvm::all_of(
        placement.partial, [&](const PartialAxis &entry) { return coordinates[entry.axis] == 0; });
    HostTensor local = emptyTensor(shape, type);
    forEachElement(mesh, placement, coordinates, [&](int64_t here, int64_t there) {
      if (there < 0)
        local.set(here,
                  placement.padding ? neutralElement(*placement.padding, type) : poison(type));
      else
        local.set(here,
                  first ? global.at(there) : neutralElement(placement.partial.front().kind, type));
    });
    shards.push_back(std::move(local));
  }
  return shards;
}

static void fillPadding(const Mesh &mesh, const Placement &placement, Scalar value,
                        Shards &shards) {
  if (!hasPadding(mesh, placement))
    return;
  for (size_t rank = 0; rank < shards.size(); ++rank)
    if (!isAbsent(shards[rank]))
      forEachElement(mesh, placement, mesh.coordinates(rank), [&](int64_t here, int64_t there) {
        if (there < 0)
          shards[rank].set(here, value);
      });
}

void poisonPadding(const Mesh &mesh, const Placement &placement, Shards &shards) {
  if (!placement.padding)
    fillPadding(mesh, placement, poison(elementTypeOf(shards)), shards);
}

void maskPadding(const Mesh &mesh, const Placement &placement, ReduceKind kind, Shards &shards) {
  fillPadding(mesh, placement, neutralElement(kind, elementTypeOf(shards)), shards);
}

/// Groups of process ranks that differ only along `axes`, members in order.
static std::vector<SmallVector<int64_t>> groupsOver(const Mesh &mesh, ArrayRef<AxisId> axes) {
  std::vector<SmallVector<int64_t>> groups;
  for (int64_t rank = 0, end = mesh.deviceCount(); rank < end; ++rank) {
    SmallVector<int64_t, 4> coordinates = mesh.coordinates(rank);
    if (mesh.memberIndex(axes, coordinates) != 0)
      continue;
    SmallVector<int64_t> members(mesh.groupSize(axes));
    for (int64_t member = 0; member < static_cast<int64_t>(members.size()); ++member) {
      int64_t rest = member;
      for (AxisId axis : llvm::reverse(axes)) {
        coordinates[axis] = rest % mesh.size(axis);
        rest /= mesh.size(axis);
      }
      members[member] = mesh.rank(coordinates);
    }
    groups.push_back(std::move(members));
  }
  return groups;
}

std::optional<HostTensor> assemble(const Mesh &mesh, const Placement &placement,
                                   const Shards &shards, double tolerance, std::string *why) {
  for (auto [rank, local] : llvm::enumerate(shards))
    if (isAbsent(local) && isHeldAt(placement, mesh.coordinates(rank))) {
      if (why)
        *why = "process rank " + std::to_string(rank) + " has nothing of it";
      return std::nullopt;
    }
  mlir::Type type = elementTypeOf(shards);
  AxisList partialAxes;
  for (const PartialAxis &entry : placement.partial)
    partialAxes.push_back(entry.axis);
  HostTensor global = emptyTensor(globalShape(placement), type);
  std::vector<bool> seen(global.size(), false);
  double largest = 1e-300;
  std::string message;
  std::vector<SmallVector<int64_t>> groups = groupsOver(mesh, partialAxes);
  llvm::erase_if(groups, [&](const SmallVector<int64_t> &group) {
    return !isHeldAt(placement, mesh.coordinates(group.front()));
  });
  // Two rounds: the largest magnitude is needed to compare replicas.
  for (int round = 0; round < 2; ++round)
    for (const SmallVector<int64_t> &group : groups)
      forEachElement(
          mesh, placement, mesh.coordinates(group.front()), [&](int64_t here, int64_t there) {
            if (there < 0)
              return;
            Scalar value = shards[group.front()].at(here);
            for (int64_t member : llvm::drop_begin(group))
              value = combine(placement.partial.front().kind, value, shards[member].at(here), type);
            if (round == 0) {
              if (!seen[there])
                global.set(there, value);
              seen[there] = true;
              if (std::isfinite(value.real))
                largest = std::max(largest, std::abs(value.real));
              return;
            }
            Scalar first = global.at(there);
            bool same = global.isFloat()
                            ? (std::isnan(first.real) && std::isnan(value.real)) ||
                                  first.real == value.real ||
                                  std::abs(first.real - value.real) <= tolerance * largest
                            : first.integer == value.integer;
            if (!same && message.empty())
              message = "process rank " + std::to_string(group.front()) +
                        " holds another value of element " + std::to_string(there);
          });
  if (!llvm::all_of(seen, [](bool b) { return b; }))
    message = "some element is on no device";
  if (message.empty())
    return global;
  if (why)
    *why = message;
  return std::nullopt;
}

namespace {

/// A tensor as [a, b, c, d, e] with row-major linear indices.
struct Box {
  int64_t sizes[5];
  int64_t linear(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) const {
    return (((a * sizes[1] + b) * sizes[2] + c) * sizes[3] + d) * sizes[4] + e;
  }
};

} // namespace

/// Copies for one group in one transition. AllGather, ReduceScatter and Slice have
/// middle = 1 and the other dim of size 1, so one loop nest serves all: the
/// split dim is cut, the other one gathered.
static void moveBlocks(const Mesh &mesh, const CollectiveGeometry &g, ArrayRef<int64_t> members,
                       const Shards &input, Shards &result) {
  bool gathers = g.kind == TransitionKind::AllGather;
  bool exchanges = g.kind == TransitionKind::AllToAll;
  mlir::Type type = elementTypeOf(input);
  // [outer, first, middle, second, inner] with the split dim first or second.
  auto box = [&](int64_t split, int64_t other) {
    return g.gatherFirst ? Box{{g.outer, other, g.middle, split, g.inner}}
                         : Box{{g.outer, split, g.middle, other, g.inner}};
  };
  auto at = [&](const Box &b, int64_t o, int64_t s, int64_t m, int64_t t, int64_t i) {
    return g.gatherFirst ? b.linear(o, t, m, s, i) : b.linear(o, s, m, t, i);
  };
  Box whole = box(g.extent, exchanges ? g.otherShard : 1);
  Box shard = box(g.shard, exchanges ? g.otherExtent : 1);
  // Positions in the extent of each member's elements; -1 is padding.
  auto positions = [&](int64_t extent, int64_t count, int64_t rank) {
    SmallVector<int64_t> line;
    PlacedFactor part{extent, g.axes};
    for (int64_t s = 0; s < count; ++s)
      line.push_back(toGlobal(mesh, part, mesh.coordinates(rank), s));
    return line;
  };
  SmallVector<SmallVector<int64_t>> split, gathered;
  for (int64_t rank : members) {
    split.push_back(positions(g.extent, g.shard, rank));
    gathered.push_back(exchanges ? positions(g.otherExtent, g.otherShard, rank)
                                 : SmallVector<int64_t>{0});
  }
  auto gather = [&](HostTensor &mine, int64_t o, int64_t m, int64_t i) {
    for (auto [peer, line] : llvm::enumerate(split))
      for (auto [s, position] : llvm::enumerate(line))
        if (position >= 0)
          mine.set(at(whole, o, position, m, 0, i),
                   input[members[peer]].at(at(shard, o, s, m, 0, i)));
  };
  auto scattered = [&](int64_t rank, int64_t there) {
    if (g.kind == TransitionKind::Slice)
      return input[rank].at(there);
    Scalar value = input[members[0]].at(there);
    for (int64_t member : members.drop_front())
      value = combine(*g.reduction, value, input[member].at(there), type);
    return value;
  };
  Scalar padding = g.padding ? neutralElement(*g.padding, type) : Scalar();
  auto scatter = [&](size_t me, int64_t o, int64_t m, int64_t i) {
    HostTensor &mine = result[members[me]];
    for (auto [s, position] : llvm::enumerate(split[me]))
      for (auto [peer, line] : llvm::enumerate(gathered)) {
        if (!exchanges && peer > 0)
          break;
        for (auto [u, t] : llvm::enumerate(line)) {
          if (t < 0)
            continue;
          int64_t here = at(shard, o, s, m, t, i);
          if (position < 0)
            mine.set(here, padding);
          else if (exchanges)
            mine.set(here, input[members[peer]].at(at(whole, o, position, m, u, i)));
          else
            mine.set(here, scattered(members[me], at(whole, o, position, m, 0, i)));
        }
      }
  };
  for (size_t me = 0; me < members.size(); ++me)
    for (int64_t o = 0; o < g.outer; ++o)
      for (int64_t m = 0; m < g.middle; ++m)
        for (int64_t i = 0; i < g.inner; ++i) {
          if (gathers)
            gather(result[members[me]], o, m, i);
          else
            scatter(me, o, m, i);
        }
}

Shards runTransition(const Mesh &mesh, const CollectiveGeometry &geometry,
                     ArrayRef<int64_t> resultShape, const Shards &input) {
  const CollectiveGeometry &g = geometry;
  mlir::Type type = elementTypeOf(input);
  Shards result(input.size());
  for (const SmallVector<int64_t> &group : groupsOver(mesh, g.axes)) {
    if (g.kind == TransitionKind::Move) {
      for (auto [stage, source] : llvm::enumerate(g.sources))
        if (source >= 0)
          result[group[stage]] = input[group[source]];
      continue;
    }
    if (isAbsent(input[group[g.keeper]]))
      continue;
    if (g.kind == TransitionKind::Partialize) {
      for (auto [member, rank] : llvm::enumerate(group)) {
        result[rank] = emptyTensor(resultShape, type);
        for (int64_t i = 0, end = result[rank].size(); i < end; ++i)
          result[rank].set(i, int64_t(member) == g.keeper ? input[rank].at(i)
                                                          : neutralElement(*g.reduction, type));
      }
      continue;
    }
    for (int64_t rank : group)
      result[rank] = emptyTensor(resultShape, type);
    if (g.kind != TransitionKind::AllReduce) {
      moveBlocks(mesh, g, group, input, result);
      continue;
    }
    for (int64_t rank : group)
      for (int64_t i = 0, end = result[rank].size(); i < end; ++i) {
        Scalar value = input[group[0]].at(i);
        for (int64_t member : llvm::drop_begin(group))
          value = combine(*g.reduction, value, input[member].at(i), type);
        result[rank].set(i, value);
      }
  }
  return result;
}

} // namespace weft
