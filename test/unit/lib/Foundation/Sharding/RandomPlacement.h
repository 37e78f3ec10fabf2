// Seeded random meshes and placements for property tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_FOUNDATION_SHARDING_RANDOMPLACEMENT_H
#define WEFT_TEST_UNIT_LIB_FOUNDATION_SHARDING_RANDOMPLACEMENT_H

#include "weft/Sharding/Placement.h"

#include <cstdlib>
#include <ctime>
#include <random>

namespace weft::test {

/// Reduced volumes by default, all of them with WEFT_TEST_FULL=1.
inline int volume(int reduced, int full) {
  const char *flag = std::getenv("WEFT_TEST_FULL");
  return flag && *flag == '1' ? full : reduced;
}

/// Of the full volume in so many parts, one a day: the part of today. 0 of the reduced one.
inline int partOfToday(int parts) {
  constexpr int64_t kSeconds = 86400;
  return volume(0, static_cast<int>(std::time(nullptr) / kSeconds % parts));
}

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t below(int64_t end) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(end)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double real() { return static_cast<double>(engine() >> 11) * 0x1p-53 * 2 - 1; }

private:
  std::mt19937_64 engine;
};

inline Mesh randomMesh(Random &random) {
  static const char *const meshes[] = {"tp=2",      "tp=4",           "tp=3",
                                       "dp=2,tp=2", "dp=3,tp=2",      "dp=2x2,tp=2",
                                       "dp=4,tp=2", "dp=2,tp=2,cp=2", "dp=2,one=1,tp=3"};
  return *Mesh::parse(meshes[random.below(std::size(meshes))]);
}

inline Mesh randomStagedMesh(Random &random) {
  static const char *const meshes[] = {"pp=2", "pp=3,tp=2", "tp=2,pp=4", "dp=2,pp=3,tp=2"};
  Mesh mesh = *Mesh::parse(meshes[random.below(std::size(meshes))]);
  mesh.axes[mesh.resolve("pp").front()].kind = AxisKind::Stages;
  return mesh;
}

/// Some of the stages, at least one.
inline Held randomHeld(Random &random, const Mesh &mesh, AxisId axis) {
  Held held{axis, {random.below(mesh.size(axis))}};
  for (int64_t stage = 0; stage < mesh.size(axis); ++stage)
    if (random.chance(40))
      held.stages.push_back(stage);
  return held;
}

/// A random placement of a tensor of this shape, uneven splits and compound
/// dims included.
inline Placement randomPlacement(Random &random, const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                                 bool mayBePartial) {
  Placement placement;
  AxisList axes;
  std::optional<AxisId> stages = mesh.stageAxis();
  for (AxisId axis = 0; axis < static_cast<AxisId>(mesh.axes.size()); ++axis)
    if (axis != stages)
      axes.insert(axes.begin() + random.below(axes.size() + 1), axis);
  for (int64_t size : shape) {
    DimPlacement parts;
    int64_t rest = size;
    for (int64_t factor : {2, 3})
      if (rest % factor == 0 && random.chance(40)) {
        parts.push_back(PlacedFactor{factor, {}});
        rest /= factor;
      }
    parts.push_back(PlacedFactor{rest, {}});
    for (PlacedFactor &part : parts)
      while (!axes.empty() && part.size > 1 && random.chance(35)) {
        part.axes.push_back(axes.back());
        axes.pop_back();
      }
    placement.dims.push_back(parts);
  }
  if (stages && mayBePartial && random.chance(30))
    axes.push_back(*stages);
  else if (stages && random.chance(70))
    placement.held = randomHeld(random, mesh, *stages);
  if (mayBePartial)
    for (AxisId axis : axes)
      if (random.chance(40))
        placement.partial.push_back({axis, ReduceKind::Sum});
  return canonicalize(mesh, placement);
}

} // namespace weft::test

#endif // WEFT_TEST_UNIT_LIB_FOUNDATION_SHARDING_RANDOMPLACEMENT_H
