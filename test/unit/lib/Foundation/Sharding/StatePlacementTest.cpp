// Where state is stored, transitions over time, and sums that values join.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomPlacement.h"

#include "weft/Search/Reshard.h"
#include "weft/Sharding/StatePlacement.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

static std::string split(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, llvm::StringRef axis) {
  return toString(mesh, splitFurther(mesh, Placement::replicated(shape), mesh.resolve(axis)));
}

TEST(StatePlacement, TakesTheDimWithTheLeastPadding) {
  Mesh mesh = *Mesh::parse("dp=4,tp=2");
  EXPECT_EQ(split(mesh, {10, 24}, "dp"), "[10, 24{\"dp\"}]");
  EXPECT_EQ(split(mesh, {12, 24}, "dp"), "[12{\"dp\"}, 24]");
  EXPECT_EQ(split(mesh, {10}, "dp"), "[10{\"dp\"}]");
  EXPECT_EQ(split(mesh, {3, 2}, "dp"), "[3, 2]"); // a device would hold nothing
  EXPECT_EQ(split(mesh, {}, "dp"), "[]");
  Mesh sub = *Mesh::parse("dp=2x2");
  EXPECT_EQ(split(sub, {8, 3}, "dp.1"), "[8{\"dp.1\"}, 3]");
  EXPECT_EQ(split(sub, {8, 3}, "dp"), "[8{\"dp.0\",\"dp.1\"}, 3]");
}

TEST(StatePlacement, KeepsWhatIsSplitAlready) {
  int evenly = 0;
  for (int seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Mesh mesh = randomMesh(random);
    llvm::SmallVector<int64_t> shape;
    for (int64_t n = random.between(1, 3); n > 0; --n)
      shape.push_back(random.between(1, 13));
    Placement used = randomPlacement(random, mesh, shape, false);
    AxisList axes = {static_cast<AxisId>(random.below(mesh.axes.size()))};
    Placement stored = splitFurther(mesh, used, axes);
    ASSERT_TRUE(verifyPlacement(mesh, stored, shape));
    ASSERT_EQ(canonicalize(mesh, stored), stored);
    ASSERT_LE(localElements(mesh, stored), localElements(mesh, used));
    // Using it is one gather, storing it back costs nothing.
    ReshardSearch search(mesh);
    const ReshardPlan *use = search.plan(stored, used, 4), *store = search.plan(used, stored, 4);
    ASSERT_TRUE(use && store) << "seed " << seed;
    ASSERT_EQ(use->transitions.size(), stored == used ? 0u : 1u) << "seed " << seed;
    ASSERT_EQ(store->bytes, 0) << "seed " << seed;
    evenly += stored != used && !hasPadding(mesh, stored);
  }
  EXPECT_GE(evenly, 20);
}

static Mesh withMicrobatches() {
  Mesh mesh = *Mesh::parse("dp=2,tp=2");
  mesh.axes.push_back({"mb", 4, AxisKind::Temporal});
  return mesh;
}

TEST(Microbatches, AreNoProcesses) {
  Mesh mesh = withMicrobatches();
  EXPECT_EQ(mesh.processCount(), 4);
  EXPECT_EQ(mesh.deviceCount(), 16);
  EXPECT_EQ(mesh.temporalAxes(), AxisList{2});
}

TEST(Microbatches, AreSlicedAddedUpAndPutTogether) {
  Mesh mesh = withMicrobatches();
  ReshardSearch search(mesh);
  Placement stored, used;
  stored.dims = {{PlacedFactor{16, {0}}}};
  used.dims = {{PlacedFactor{16, {0, 2}}}};
  const ReshardPlan *plan = search.plan(stored, used, 4);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->transitions.size(), 1u);
  plan = search.plan(used, stored, 4);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->transitions.size(), 1u);
  EXPECT_EQ(plan->transitions[0].kind, TransitionKind::AllGather);
  EXPECT_EQ(plan->bytes, 0);
  EXPECT_EQ(gatheredOverTime(mesh, used), stored);
  // What could move instead moves.
  EXPECT_GT(plan->cost, 100 * search.cost(stored, Placement::replicated({16}), 4));
  std::string why;
  Placement moved = Placement::replicated({16, 16}), other = moved;
  moved.dims[0] = {PlacedFactor{16, {2}}};
  other.dims[1] = {PlacedFactor{16, {2}}};
  EXPECT_FALSE(checkTransition(mesh, TransitionKind::AllToAll, {2}, 1, 0, moved, other, &why));
  EXPECT_EQ(why, "all_to_all cannot run over microbatches");

  // What is due over devices is added up in each, so that only the sum is kept of all.
  Placement due = used;
  due.partial = {{1, ReduceKind::Sum}};
  plan = search.plan(due, stored, 4);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->transitions.size(), 2u);
  EXPECT_EQ(plan->transitions[0].axes, AxisList{1});
  EXPECT_EQ(plan->transitions[1].axes, AxisList{2});

  // Microbatches may be counted before shards: 16{"mb","dp"} is 4{"mb"} * 4{"dp"}.
  stored.dims = {{PlacedFactor{4, {}}, PlacedFactor{4, {0}}}};
  used.dims = {{PlacedFactor{16, {2, 0}}}};
  EXPECT_EQ(gatheredOverTime(mesh, used), stored);
  for (auto [from, to, kind] : {std::tuple(stored, used, TransitionKind::Slice),
                                std::tuple(used, stored, TransitionKind::AllGather)}) {
    plan = search.plan(from, to, 4);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->transitions.size(), 1u);
    EXPECT_EQ(plan->transitions[0].kind, kind);
    CollectiveGeometry geometry = geometryOf(mesh, kind, {2}, 0, -1, from, to);
    EXPECT_EQ(std::tuple(geometry.outer, geometry.extent, geometry.shard, geometry.inner),
              std::tuple(1, 4, 1, 2));
  }
  // Of uneven shards none is a whole number of microbatches.
  used.dims = {{PlacedFactor{14, {2, 0}}}};
  EXPECT_EQ(gatheredOverTime(mesh, used), Placement::replicated({14}));
  EXPECT_FALSE(combinationOver(mesh, used, 2));

  // A gradient is accumulated before it is reduced over devices, once.
  Placement gradient = Placement::replicated({1 << 16}), whole = gradient;
  gradient.partial = {{0, ReduceKind::Sum}, {2, ReduceKind::Sum}};
  plan = search.plan(gradient, whole, 4);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->transitions.size(), 2u);
  EXPECT_EQ(plan->transitions[0].axes, AxisList{2});
  EXPECT_EQ(plan->transitions[1].axes, AxisList{0});
  EXPECT_FALSE(
      checkTransition(mesh, TransitionKind::AllReduce, {0, 2}, -1, -1, gradient, whole, &why));
  EXPECT_EQ(why, "all_reduce mixes axes of space and time");
}

TEST(Partialize, LetsAValueJoinASum) {
  Mesh mesh = withMicrobatches();
  ReshardSearch search(mesh);
  Placement held = Placement::replicated({}), due = held;
  due.partial = {{0, ReduceKind::Sum}, {1, ReduceKind::Sum}};
  const ReshardPlan *plan = search.plan(held, due, 4);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->transitions.size(), 1u);
  EXPECT_EQ(plan->transitions[0].kind, TransitionKind::Partialize);
  EXPECT_EQ(plan->bytes, 0);
  EXPECT_TRUE(checkTransition(mesh, TransitionKind::Partialize, {0, 1}, -1, -1, held, due));
  EXPECT_FALSE(checkTransition(mesh, TransitionKind::Partialize, {0}, -1, -1, held, due));
  EXPECT_FALSE(checkTransition(mesh, TransitionKind::Partialize, {0, 1}, -1, -1, due, held));
}

// HSDP: scattered within the inner sub-axis, shards reduced across the outer one.
TEST(StatePlacement, SubAxesScatterInsideAndReduceAcross) {
  Mesh mesh = *Mesh::parse("dp=4x4");
  Placement gradient = Placement::replicated({4096, 64});
  Placement stored = splitFurther(mesh, gradient, mesh.resolve("dp.1"));
  gradient.partial = {{0, ReduceKind::Sum}, {1, ReduceKind::Sum}};
  ReshardSearch search(mesh);
  const ReshardPlan *plan = search.plan(gradient, stored, 4);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->transitions.size(), 2u);
  EXPECT_EQ(plan->transitions[0].kind, TransitionKind::ReduceScatter);
  EXPECT_EQ(plan->transitions[0].axes, AxisList{1});
  EXPECT_EQ(plan->transitions[1].kind, TransitionKind::AllReduce);
  EXPECT_EQ(plan->transitions[1].axes, AxisList{0});
}
