// The choices of the search for reshards, and its plans run on tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Search/Reshard.h"
#include "RandomPlacement.h"
#include "weft/Testing/Spmd/Shards.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

static std::string stepsText(const Mesh &mesh, const ReshardPlan *plan) {
  if (!plan)
    return "none";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      plan->transitions, os,
      [&](const ReshardTransition &transition) {
        os << stringifyTransitionKind(transition.kind) << ' ';
        printAxes(mesh, transition.axes, os);
        if (transition.dim >= 0)
          os << " dim " << transition.dim;
      },
      "; ");
  return text;
}

TEST(Reshard, FindsThePublishedCollectives) {
  Mesh mesh = *Mesh::parse("dp=2,tp=4");
  ReshardSearch search(mesh);
  auto place = [&](DimPlacement a, DimPlacement b, bool partial = false) {
    Placement p;
    p.dims = {a, b};
    if (partial)
      p.partial.push_back({1, ReduceKind::Sum});
    return canonicalize(mesh, p);
  };
  auto plan = [&](const Placement &from, const Placement &to) {
    return stepsText(mesh, search.plan(from, to, 4));
  };
  DimPlacement r = {PlacedFactor{64, {}}}, dp = {PlacedFactor{64, {0}}},
               tp = {PlacedFactor{64, {1}}}, both = {PlacedFactor{64, {0, 1}}},
               swapped = {PlacedFactor{64, {1, 0}}};
  EXPECT_EQ(plan(place(r, r, true), place(r, r)), "all_reduce \"tp\"");
  EXPECT_EQ(plan(place(r, r, true), place(tp, r)), "reduce_scatter \"tp\" dim 0");
  EXPECT_EQ(plan(place(dp, r, true), place(both, r)), "reduce_scatter \"tp\" dim 0");
  EXPECT_EQ(plan(place(tp, r), place(r, r)), "all_gather \"tp\" dim 0");
  EXPECT_EQ(plan(place(both, r), place(r, r)), "all_gather \"dp\",\"tp\" dim 0");
  EXPECT_EQ(plan(place(tp, r), place(r, tp)), "all_to_all \"tp\" dim 1");
  EXPECT_EQ(plan(place(r, r), place(dp, tp)), "slice \"dp\" dim 0; slice \"tp\" dim 1");
  EXPECT_EQ(plan(place(r, r), place(r, r, true)), "partialize \"tp\"");
  EXPECT_EQ(plan(place(r, r), place(r, r)), "");
  EXPECT_EQ(search.plan(place(both, r), place(swapped, r), 4)->transitions.back().kind,
            TransitionKind::Slice);
  // 2 * (n-1)/n * bytes of the ring all_reduce.
  EXPECT_DOUBLE_EQ(search.plan(place(r, r, true), place(r, r), 4)->bytes, 2 * 0.75 * 64 * 64 * 4);
}

/// Runs the plan on all devices and compares with the target's distribution.
static testing::AssertionResult runPlan(const Mesh &mesh, const Placement &from,
                                        const Placement &to, const ReshardPlan &plan,
                                        const HostTensor &global) {
  Shards shards = distribute(mesh, from, global);
  Placement here = from;
  for (const ReshardTransition &transition : plan.transitions) {
    std::string why;
    if (!checkTransition(mesh, transition.kind, transition.axes, transition.dim,
                         transition.otherDim, here, transition.result, &why))
      return testing::AssertionFailure() << stepsText(mesh, &plan) << ": " << why;
    if (transition.kind == TransitionKind::Mask) {
      maskPadding(mesh, transition.result, *transition.result.padding, shards);
    } else {
      CollectiveGeometry geometry =
          geometryOf(mesh, transition.kind, transition.axes, transition.dim, transition.otherDim,
                     here, transition.result);
      shards = runTransition(mesh, geometry, localShape(mesh, transition.result), shards);
    }
    here = transition.result;
  }
  if (here != to)
    return testing::AssertionFailure() << "plan ends at " << toString(mesh, here);
  std::string why;
  std::optional<HostTensor> result = assemble(mesh, to, shards, 0, &why);
  if (!result)
    return testing::AssertionFailure() << stepsText(mesh, &plan) << ": " << why;
  if (result->integers != global.integers)
    return testing::AssertionFailure() << stepsText(mesh, &plan) << ": other values";
  if (!to.padding)
    return testing::AssertionSuccess();
  Shards masked = shards;
  maskPadding(mesh, to, *to.padding, masked);
  for (auto [a, b] : llvm::zip_equal(shards, masked))
    if (a.integers != b.integers)
      return testing::AssertionFailure() << stepsText(mesh, &plan) << ": padding not neutral";
  return testing::AssertionSuccess();
}

// Any two placements of a tensor: the plan's geometries, run on all devices,
// move every element to where the target's positions say.
TEST(Reshard, PlansMoveEveryElement) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  int count = volume(3000, 20000), transitions = 0, gathers = 0, exchanges = 0, scatters = 0,
      masks = 0, moves = 0;
  for (int seed = 0; seed < count; ++seed) {
    Random random(seed);
    Mesh mesh = random.chance(30) ? randomStagedMesh(random) : randomMesh(random);
    if (random.chance(20))
      mesh.axes.push_back({"mb", random.between(2, 3), AxisKind::Temporal});
    llvm::SmallVector<int64_t> shape;
    for (int64_t n = random.between(1, 3); n > 0; --n)
      shape.push_back(random.between(1, 13));
    Placement from = randomPlacement(random, mesh, shape, true);
    Placement to = randomPlacement(random, mesh, shape, false);
    if (random.chance(30))
      to.padding = random.chance(50) ? ReduceKind::Sum : ReduceKind::Max;
    if (random.chance(10) && mesh.stageAxis() != 0 && !llvm::is_contained(to.usedAxes(), 0) &&
        (from.partial.empty() || from.partial.front().kind == ReduceKind::Sum))
      to.partial.push_back({0, ReduceKind::Sum}); // joins a sum, if it is not in one
    else if (random.chance(20))
      for (const PartialAxis &axis : from.partial)
        if (!llvm::is_contained(to.usedAxes(), axis.axis))
          to.partial.push_back(axis);
    to = canonicalize(mesh, to);
    HostTensor global(mlir::RankedTensorType::get(shape, builder.getI64Type()));
    for (int64_t i = 0; i < global.size(); ++i)
      global.integers[i] = 1000 + 7 * i;
    ReshardSearch search(mesh);
    const ReshardPlan *plan = search.plan(from, to, 8);
    ASSERT_TRUE(plan) << "seed " << seed << ": " << toString(mesh, from) << " to "
                      << toString(mesh, to);
    ASSERT_TRUE(runPlan(mesh, from, to, *plan, global))
        << "seed " << seed << ": " << toString(mesh, from) << " to " << toString(mesh, to);
    ASSERT_EQ(search.plan(from, to, 8), plan); // remembered
    for (const ReshardTransition &transition : plan->transitions) {
      ++transitions;
      gathers += transition.kind == TransitionKind::AllGather;
      exchanges += transition.kind == TransitionKind::AllToAll;
      scatters += transition.kind == TransitionKind::ReduceScatter;
      masks += transition.kind == TransitionKind::Mask;
      moves += transition.kind == TransitionKind::Move;
    }
  }
  std::printf("reshards: %d seeds from 0, %d transitions, %d all_gather, %d all_to_all, "
              "%d reduce_scatter, %d mask, %d move\n",
              count, transitions, gathers, exchanges, scatters, masks, moves);
  EXPECT_GE(gathers, 100);
  EXPECT_GE(exchanges, 20);
  EXPECT_GE(scatters, 20);
  EXPECT_GE(masks, 20);
  EXPECT_GE(moves, 100);
}

// Each stage gets a value from the nearest that holds it; of two, from the lower.
TEST(Reshard, ValuesMoveFromTheNearestStage) {
  Mesh mesh = *Mesh::parse("pp=5,tp=2");
  mesh.axes[0].kind = AxisKind::Stages;
  ReshardSearch search(mesh);
  auto on = [&](llvm::SmallVector<int64_t, 0> stages, DimPlacement dim = {PlacedFactor{8, {}}}) {
    Placement placement;
    placement.dims = {dim};
    placement.held = Held{0, stages};
    return canonicalize(mesh, placement);
  };
  auto sources = [&](const Placement &from, const Placement &to) {
    return geometryOf(mesh, TransitionKind::Move, {0}, -1, -1, from, to).sources;
  };
  using Sources = llvm::SmallVector<int64_t, 4>;
  EXPECT_EQ(sources(on({1, 3}), on({0, 1, 2, 3, 4})), (Sources{1, 1, 1, 3, 3}));
  EXPECT_EQ(sources(on({0, 4}), on({1, 4})), (Sources{-1, 0, -1, -1, 4}));

  DimPlacement split = {PlacedFactor{8, {1}}}, whole = {PlacedFactor{8, {}}};
  const ReshardPlan *plan = search.plan(on({0}, split), on({1}, whole), 4);
  EXPECT_EQ(stepsText(mesh, plan), "move \"pp\"; all_gather \"tp\" dim 0"); // half the bytes cross
  plan = search.plan(on({0}), on({0, 1}), 4);
  EXPECT_EQ(stepsText(mesh, plan), "move \"pp\"");
  EXPECT_EQ(plan->bytes, 32);
  // What only gives a value up costs nothing.
  plan = search.plan(on({0, 1}), on({1}), 4);
  EXPECT_EQ(plan->bytes, 0);
  EXPECT_EQ(search.cost(on({0, 1}), on({1}), 4), 0);

  // A sum over stages counts what several hold once.
  Placement sum = on({0, 1, 2, 3, 4});
  sum.partial.push_back({0, ReduceKind::Sum});
  EXPECT_EQ(stepsText(mesh, search.plan(on({2, 3}), sum, 4)), "partialize \"pp\"");
  EXPECT_EQ(geometryOf(mesh, TransitionKind::Partialize, {0}, -1, -1, on({2, 3}), sum).keeper, 2);
  EXPECT_EQ(stepsText(mesh, search.plan(sum, on({4}), 4)), "all_reduce \"pp\"");
  std::string why;
  EXPECT_FALSE(
      checkTransition(mesh, TransitionKind::AllGather, {1}, 0, -1, on({0}, split), on({1}), &why));
  EXPECT_EQ(why, "the result is on stages that do not hold the input: from [8{\"tp\"}], held = "
                 "\"pp\"[0] to [8], held = \"pp\"[1]");
}
