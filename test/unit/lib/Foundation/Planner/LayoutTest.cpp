// Which layouts there are, and in which order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/Layout.h"

#include <gtest/gtest.h>

#include <set>

using namespace weft;
using namespace weft::planner;

namespace {

Space spaceOf(int64_t devices, int64_t batch, int64_t blocks) {
  Space space;
  space.devices = devices;
  space.batch = batch;
  space.blocks = blocks;
  space.ordersMatter = false;
  return space;
}

TEST(Layouts, AreAllThatDivide) {
  // Counted by hand: one device has 3 microbatch counts x 3 kinds of recomputation; two devices of
  // data x (2 counts, 4 stages of ZeRO), of weights x (3 counts, with and without sequence
  // parallelism).
  EXPECT_EQ(spaceOf(1, 4, 0).layouts().size(), 9u);
  EXPECT_EQ(spaceOf(2, 4, 0).layouts().size(), size_t(2 * 4 * 3 + 3 * 2 * 3));
  // Two stages: 1f1b with 1, 2, 4 microbatches, the others with as many as they have.
  Space staged = spaceOf(2, 4, 2);
  staged.schedules = {"1f1b"};
  EXPECT_EQ(staged.layouts().size(), size_t(2 * 4 * 3 + 3 * 2 * 3 + 3 * 3));
}

TEST(Layouts, AreSortedAndDifferent) {
  Space space = spaceOf(16, 32, 8);
  space.ordersMatter = true;
  std::vector<Layout> layouts = space.layouts();
  for (size_t i = 1; i < layouts.size(); ++i)
    EXPECT_TRUE(layouts[i - 1] < layouts[i]);
  std::set<std::string> orders;
  for (const Layout &layout : layouts) {
    EXPECT_EQ(layout.devices(), 16);
    EXPECT_EQ(32 % (layout.size(Role::Data) * layout.microbatches), 0);
    EXPECT_TRUE(layout.size(Role::Stages) == 1 || layout.size(Role::Stages) <= 8);
    if (layout.size(Role::Stages) == 2 && layout.size(Role::Data) == 2)
      orders.insert(layout.mesh());
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Layouts, ObeyWhatIsSettled) {
  Space space = spaceOf(8, 16, 8);
  space.allowedSizes[size_t(Role::Tensor)] = {2};
  space.allowedSizes[size_t(Role::Stages)] = {1};
  space.allowedZero = {1};
  space.allowedMicrobatches = {2};
  space.allowedRecompute = {Recompute::None};
  std::vector<Layout> layouts = space.layouts();
  ASSERT_EQ(layouts.size(), 2u);
  EXPECT_EQ(layouts[0].text(), "dp=4 x tp=2, 2 microbatches, ZeRO-1");
  EXPECT_EQ(layouts[1].text(), "dp=4 x tp=2, 2 microbatches, ZeRO-1, sequence parallel");
  EXPECT_EQ(layouts[0].mesh(), "dp=4,tp=2");
}

TEST(Layouts, HaveTheAxesThatAreNeeded) {
  Space space = spaceOf(4, 4, 4);
  space.isNeeded[size_t(Role::Tensor)] = true;
  std::set<std::string> meshes;
  for (const Layout &layout : space.layouts())
    meshes.insert(layout.mesh());
  EXPECT_EQ(meshes, (std::set<std::string>{"dp=2,tp=2", "pp=2,tp=2", "tp=4"}));
  EXPECT_EQ(space.meshes(), (std::vector<std::string>{"tp=4", "dp=2,tp=2", "pp=2,tp=2"}));
  space.isNeeded[size_t(Role::Data)] = true;
  meshes.clear();
  for (const Layout &layout : space.layouts())
    meshes.insert(layout.mesh());
  EXPECT_EQ(meshes, std::set<std::string>{"dp=2,tp=2"});
}

TEST(Layouts, SimplerOnesComeFirst) {
  Layout plain, split;
  plain.size(Role::Data) = 8;
  split.size(Role::Data) = 4;
  split.size(Role::Tensor) = 2;
  EXPECT_TRUE(plain < split);
  Layout zero = plain;
  zero.zero = 1;
  EXPECT_TRUE(plain < zero);
  EXPECT_TRUE(zero < split);
  // So is a schedule with one action for both kinds of gradients.
  Layout whole, halves;
  whole.size(Role::Stages) = halves.size(Role::Stages) = 2;
  halves.schedule = "zb-h1";
  EXPECT_EQ(halves.complexity(), whole.complexity() + 1);
  whole.schedule = "gpipe";
  EXPECT_EQ(halves.complexity(), whole.complexity() + 1);
}

} // namespace
