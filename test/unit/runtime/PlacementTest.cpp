// The map from global elements to ranks' buffers, against its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Placement.h"
#include "weft/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <random>

using namespace weft::runtime;

namespace {

using Part = ProgramBuilder::Part;

struct Placed {
  ProgramBuilder builder;
  std::vector<uint8_t> blob;
  ProgramView view;
  Id placement;

  Placed(const std::vector<int64_t> &axes, const ProgramBuilder::PlacementDesc &dims) {
    for (int64_t size : axes)
      builder.addMeshAxis("x" + std::to_string(size), size);
    placement = builder.addPlacement(dims);
    builder.addStage({0, {}});
    blob = builder.finish();
    Status status = ProgramView::open(blob.data(), blob.size(), view);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  ShardMap map(int64_t rank) const { return ShardMap(view, placement, coordinatesOf(view, rank)); }
};

std::vector<std::pair<int64_t, int64_t>> pairsOf(const ShardMap &map) {
  std::vector<std::pair<int64_t, int64_t>> result;
  map.forEachRun([&](const ShardMap::Run &run) {
    for (int64_t i = 0; i < run.count; ++i)
      result.push_back({run.global + i, run.local + i});
  });
  return result;
}

TEST(Placement, UnevenShardsOfTwoLevels) {
  // 10 over a=2, b=2: [0,3) [3,5) [5,8) [8,10), each in a buffer of 3.
  Placed p({2, 2}, {{{10, {0, 1}}}});
  const int64_t starts[] = {0, 3, 5, 8}, counts[] = {3, 2, 3, 2};
  for (int64_t rank = 0; rank < 4; ++rank) {
    ShardMap map = p.map(rank);
    EXPECT_EQ(map.localShape(), std::vector<int64_t>{3});
    EXPECT_EQ(map.numValid(), counts[rank]);
    int runs = 0;
    map.forEachRun([&](const ShardMap::Run &run) {
      ++runs;
      EXPECT_EQ(run.global, starts[rank]);
      EXPECT_EQ(run.local, 0);
      EXPECT_EQ(run.count, counts[rank]);
    });
    EXPECT_EQ(runs, 1);
  }
}

TEST(Placement, LastShardsMayBeEmpty) {
  Placed p({4}, {{{5, {0}}}}); // 2 2 1 0
  EXPECT_EQ(p.map(2).numValid(), 1);
  EXPECT_EQ(p.map(3).numValid(), 0);
  EXPECT_TRUE(pairsOf(p.map(3)).empty());
}

TEST(Placement, FusedProjectionShardsItsInnerFactor) {
  // Rows 12 = (3)(4:{tp}) of width 2: rank 1 holds rows 2,3 6,7 10,11.
  Placed p({2}, {{{3, {}}, {4, {0}}}, {{2, {}}}});
  ShardMap map = p.map(1);
  EXPECT_EQ(map.localShape(), (std::vector<int64_t>{6, 2}));
  std::vector<std::array<int64_t, 3>> runs;
  map.forEachRun(
      [&](const ShardMap::Run &run) { runs.push_back({run.global, run.local, run.count}); });
  EXPECT_EQ(runs, (std::vector<std::array<int64_t, 3>>{{4, 0, 4}, {12, 4, 4}, {20, 8, 4}}));
}

TEST(Placement, OneOfTheReplicasWrites) {
  Placed p({2, 3}, {{{4, {0}}}}); // replicated over the second axis
  for (int64_t rank = 0; rank < 6; ++rank)
    EXPECT_EQ(p.map(rank).isWriter(), rank % 3 == 0);
}

TEST(Placement, ScalarsAndWholeTensorsAreOneRun) {
  Placed scalar({2}, {});
  EXPECT_EQ(pairsOf(scalar.map(1)).size(), 1u);
  Placed whole({2}, {{{3, {}}}, {{5, {}}}});
  int runs = 0;
  whole.map(0).forEachRun([&](const ShardMap::Run &run) {
    ++runs;
    EXPECT_EQ(run.count, 15);
  });
  EXPECT_EQ(runs, 1);
}

// Random placements against the definition, written out per element: every
// global element is at exactly one local position of each rank of one replica
// group, and runs are maximal in their innermost dimension.
TEST(Placement, RandomPlacementsFollowTheDefinition) {
  std::mt19937_64 random(7);
  int cases = 0;
  for (; cases < 400; ++cases) {
    std::vector<int64_t> axes(1 + random() % 3);
    int64_t ranks = 1;
    for (int64_t &axis : axes)
      ranks *= axis = 1 + int64_t(random() % 4);
    std::vector<uint32_t> free;
    for (uint32_t i = 0; i < axes.size(); ++i)
      free.push_back(i);
    std::shuffle(free.begin(), free.end(), random);
    ProgramBuilder::PlacementDesc dims(random() % 4);
    std::vector<Part *> parts;
    for (auto &dim : dims) {
      dim.resize(1 + random() % 3);
      for (Part &part : dim)
        part.size = 1 + int64_t(random() % 6);
    }
    for (auto &dim : dims)
      for (Part &part : dim)
        while (!free.empty() && random() % 2) {
          part.axes.push_back(free.back());
          free.pop_back();
        }
    Placed p(axes, dims);
    int64_t total = 1;
    for (const auto &dim : dims)
      for (const Part &part : dim)
        total *= part.size;
    std::vector<int> written(size_t(total), 0);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<int64_t> at = coordinatesOf(p.view, rank);
      ShardMap map = p.map(rank);
      auto pairs = pairsOf(map);
      EXPECT_EQ(int64_t(pairs.size()), map.numValid());
      std::vector<int64_t> localOf(size_t(total), -1);
      for (auto [global, local] : pairs) {
        ASSERT_LT(global, total);
        ASSERT_LT(local, map.numLocal());
        ASSERT_EQ(localOf[size_t(global)], -1);
        localOf[size_t(global)] = local;
        written[size_t(global)] += map.isWriter();
      }
      for (int64_t element = 0; element < total; ++element) {
        // Factors of the element, innermost part first.
        int64_t rest = element, local = 0, scale = 1;
        bool mine = true;
        for (size_t d = dims.size(); d-- > 0;)
          for (size_t i = dims[d].size(); i-- > 0;) {
            const Part &part = dims[d][i];
            int64_t index = rest % part.size;
            rest /= part.size;
            int64_t extent = part.size;
            for (uint32_t axis : part.axes) {
              extent = (extent + axes[axis] - 1) / axes[axis];
              mine &= index / extent == at[axis];
              index %= extent;
            }
            local += index * scale;
            scale *= extent;
          }
        EXPECT_EQ(localOf[size_t(element)], mine ? local : -1);
      }
      EXPECT_EQ(map.numGlobal(), total);
    }
    for (int count : written)
      EXPECT_EQ(count, 1);
  }
  EXPECT_EQ(cases, 400);
}

} // namespace
