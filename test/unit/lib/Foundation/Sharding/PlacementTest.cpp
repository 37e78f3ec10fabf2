// Meshes, canonical forms and positions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomPlacement.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

TEST(Mesh, ParsesSubAxes) {
  std::optional<Mesh> mesh = Mesh::parse("dp=4x2,tp=2");
  ASSERT_TRUE(mesh);
  ASSERT_EQ(mesh->axes.size(), 3u);
  EXPECT_EQ(mesh->axes[0].name, "dp.0");
  EXPECT_EQ(mesh->resolve("dp"), (AxisList{0, 1}));
  EXPECT_EQ(mesh->resolve("dp.1"), (AxisList{1}));
  EXPECT_EQ(mesh->resolve("d"), AxisList());
  EXPECT_EQ(mesh->deviceCount(), 16);
  for (int64_t rank = 0; rank < 16; ++rank)
    EXPECT_EQ(mesh->rank(mesh->coordinates(rank)), rank);
  EXPECT_EQ(mesh->coordinates(1).back(), 1); // the last axis is the fastest
}

TEST(Mesh, TextIsReadBack) {
  for (const char *text :
       {"dp=4x2,tp=2", "dp.0=2,tp=2", "dp=2,dp.0=2", "dp.0=2", "dp.1=2,dp.0=2"}) {
    std::optional<Mesh> mesh = Mesh::parse(text);
    ASSERT_TRUE(mesh) << text;
    EXPECT_EQ(toString(*mesh), text);
  }
}

TEST(Mesh, RefusesNonsense) {
  for (const char *text : {"dp", "dp=", "=2", "dp=0", "dp=-1", "dp=2,dp=2", "dp=2x", "dp=1048577",
                           "a=1024,b=1024,c=2", "dp=2,dp=2x2"}) {
    std::string why;
    EXPECT_FALSE(Mesh::parse(text, &why)) << text;
    EXPECT_FALSE(why.empty());
  }
}

static std::string dimText(const Mesh &mesh, llvm::ArrayRef<PlacedFactor> dim) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDim(mesh, canonicalize(mesh, dim), os);
  return text;
}

TEST(Placement, CanonicalFormMergesEqualLayouts) {
  Mesh mesh = *Mesh::parse("a=2,b=3,one=1");
  EXPECT_EQ(dimText(mesh, {PlacedFactor{12, {0}}, PlacedFactor{64, {}}}), "768{\"a\"}");
  EXPECT_EQ(dimText(mesh, {PlacedFactor{2, {0}}, PlacedFactor{6, {1}}}), "12{\"a\",\"b\"}");
  EXPECT_EQ(dimText(mesh, {PlacedFactor{3, {}}, PlacedFactor{768, {0}}}), "3*768{\"a\"}");
  EXPECT_EQ(dimText(mesh, {PlacedFactor{5, {0}}, PlacedFactor{4, {}}}),
            "5{\"a\"}*4"); // uneven: rows stay whole
  EXPECT_EQ(dimText(mesh, {PlacedFactor{4, {2}}, PlacedFactor{1, {}}, PlacedFactor{2, {}}}), "8");
  EXPECT_EQ(dimText(mesh, {PlacedFactor{1, {}}}), "1");
}

TEST(Placement, UnevenSplitIsSuccessiveCeilingDivision) {
  Mesh mesh = *Mesh::parse("a=2,b=2");
  DimPlacement dim = {PlacedFactor{10, {0, 1}}};
  EXPECT_EQ(localSize(mesh, dim), 3);
  auto range = [&](int64_t rank) {
    std::vector<int64_t> held;
    for (int64_t i = 0; i < 3; ++i)
      held.push_back(toGlobal(mesh, dim, mesh.coordinates(rank), i));
    return held;
  };
  EXPECT_EQ(range(0), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(range(1), (std::vector<int64_t>{3, 4, -1}));
  EXPECT_EQ(range(2), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(range(3), (std::vector<int64_t>{8, 9, -1}));
}

// Over random dims: canonical form keeps every position, toLocal inverts
// toGlobal, and each element lies on exactly one device of the group.
TEST(Placement, PositionsAreABijection) {
  int count = volume(3000, 20000);
  for (int seed = 0; seed < count; ++seed) {
    Random random(seed);
    Mesh mesh = randomMesh(random);
    DimPlacement parts;
    AxisList axes;
    for (AxisId axis = 0; axis < static_cast<AxisId>(mesh.axes.size()); ++axis)
      axes.push_back(axis);
    for (int64_t n = random.between(1, 3); n > 0; --n) {
      PlacedFactor part{random.between(1, 7), {}};
      while (!axes.empty() && random.chance(50)) {
        part.axes.push_back(axes.back());
        axes.pop_back();
      }
      parts.push_back(part);
    }
    DimPlacement canonical = canonicalize(mesh, parts);
    ASSERT_EQ(localSize(mesh, parts), localSize(mesh, canonical));
    ASSERT_EQ(canonicalize(mesh, canonical), canonical);
    std::vector<int> holders(globalSize(parts), 0);
    for (int64_t rank = 0; rank < mesh.deviceCount(); ++rank) {
      auto coordinates = mesh.coordinates(rank);
      for (int64_t i = 0, end = localSize(mesh, parts); i < end; ++i) {
        int64_t global = toGlobal(mesh, parts, coordinates, i);
        ASSERT_EQ(global, toGlobal(mesh, canonical, coordinates, i)) << "seed " << seed;
        if (global < 0)
          continue;
        ASSERT_EQ(toLocal(mesh, parts, coordinates, global), i);
        ++holders[global];
      }
    }
    int64_t replicas = mesh.deviceCount();
    for (const PlacedFactor &part : parts)
      replicas /= mesh.groupSize(part.axes);
    for (int held : holders)
      ASSERT_EQ(held, replicas) << "seed " << seed;
  }
  std::printf("positions: %d seeds from 0\n", count);
}

TEST(Placement, EncodingAndVerification) {
  Mesh mesh = *Mesh::parse("dp=2,tp=2");
  for (int seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Placement placement = randomPlacement(random, mesh, {6, 8, 5}, true);
    ASSERT_EQ(decodePlacement(encode(placement)), placement);
    ASSERT_TRUE(verifyPlacement(mesh, placement, {6, 8, 5}));
    ASSERT_FALSE(verifyPlacement(mesh, placement, {6, 8, 7}));
  }
  for (int seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Mesh staged = randomStagedMesh(random);
    Placement placement = randomPlacement(random, staged, {6, 8, 5}, true);
    ASSERT_EQ(decodePlacement(encode(placement)), placement);
    ASSERT_TRUE(verifyPlacement(staged, placement, {6, 8, 5}));
  }
  Placement twice;
  twice.dims = {{PlacedFactor{4, {0}}}, {PlacedFactor{4, {0}}}};
  std::string why;
  EXPECT_FALSE(verifyPlacement(mesh, twice, {4, 4}, &why));
  EXPECT_EQ(why, "axis \"dp\" appears twice");
}

TEST(Placement, StagesHoldWholeValuesOrNothing) {
  Mesh mesh = *Mesh::parse("pp=4,tp=2");
  mesh.axes[0].kind = AxisKind::Stages;
  Placement placement = Placement::replicated({8});
  placement.held = Held{0, {3, 0, 3}};
  placement = canonicalize(mesh, placement);
  EXPECT_EQ(toString(mesh, placement), "[8], held = \"pp\"[0,3]");
  EXPECT_TRUE(verifyPlacement(mesh, placement, {8}));
  EXPECT_TRUE(isHeldAt(placement, {3, 1}));
  EXPECT_FALSE(isHeldAt(placement, {2, 1}));
  EXPECT_FALSE(placement.isReplicated());

  Placement all = placement, one = placement;
  all.held = Held{0, {0, 1, 2, 3}};
  EXPECT_FALSE(canonicalize(mesh, all).held); // that is what absence means
  one.held = Held{0, {3}};
  EXPECT_TRUE(isHeldWithin(one, placement));
  EXPECT_FALSE(isHeldWithin(placement, one));
  EXPECT_TRUE(isHeldWithin(one, canonicalize(mesh, all)));
  EXPECT_FALSE(isHeldWithin(canonicalize(mesh, all), one));

  auto refusal = [&](std::optional<Held> held, DimPlacement dim = {PlacedFactor{8, {}}}) {
    Placement wrong;
    wrong.dims = {dim};
    wrong.held = held;
    std::string why;
    EXPECT_FALSE(verifyPlacement(mesh, wrong, {8}, &why));
    return why;
  };
  EXPECT_EQ(refusal(Held{0, {4}}), "stage 4 is not among the 4 of axis \"pp\"");
  EXPECT_EQ(refusal(Held{0, {}}), "no stage of axis \"pp\" holds the value");
  EXPECT_EQ(refusal(Held{1, {0}}),
            "axis \"tp\" counts no stages, so that no value is held by some of it");
  EXPECT_EQ(refusal({}, {PlacedFactor{8, {0}}}),
            "dim 0 is split over axis \"pp\" of stages, which hold whole values or nothing");
}
