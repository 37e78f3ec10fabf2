// Which meshes are left, and why there are none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Choosing/NeededAxes.h"

#include "weft/Choosing/Failure.h"

#include "gtest/gtest.h"

using namespace weft;
using namespace weft::choosing;
using planner::Role;

namespace {

/// What is wrong with rules for the first dim of values; nothing if there are meshes.
std::optional<NoMesh> faultOf(std::vector<std::string> axes, std::vector<int64_t> devices,
                              planner::Space &space) {
  std::vector<dist::PlacementRule> rules;
  for (const std::string &axis : axes)
    rules.push_back(llvm::cantFail(dist::PlacementRule::parse("w=dim0:" + axis)));
  std::optional<NoMesh> found;
  llvm::handleAllErrors(needAxes(rules, devices, space),
                        [&](const NoMesh &fault) { found.emplace(fault); });
  return found;
}

planner::Space spaceOf(int64_t devices, int64_t batch) {
  planner::Space space;
  space.devices = devices;
  space.batch = batch;
  return space;
}

TEST(NeededAxes, LeaveMeshesThatHaveThem) {
  planner::Space space = spaceOf(4, 4);
  EXPECT_FALSE(faultOf({"tp"}, {4}, space));
  for (const std::string &mesh : space.meshes())
    EXPECT_NE(mesh.find("tp="), std::string::npos) << mesh;
  EXPECT_FALSE(space.meshes().empty());
}

TEST(NeededAxes, CountNoStages) {
  planner::Space space = spaceOf(4, 4);
  std::optional<NoMesh> fault = faultOf({"pp"}, {4}, space);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, NoMesh::Axis::Stages);
  EXPECT_EQ(fault->axis, "pp");
}

TEST(NeededAxes, AreKnownByTheirNames) {
  planner::Space space = spaceOf(2, 2);
  std::optional<NoMesh> fault = faultOf({"tp", "ep"}, {1, 2}, space);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, NoMesh::Axis::Unknown);
  EXPECT_EQ(fault->rule, "w=dim0:ep");
  EXPECT_EQ(fault->needed, std::vector<std::string>{"tp"});
  EXPECT_EQ(fault->devices, 2);
  EXPECT_TRUE(fault->orFewer);
  EXPECT_EQ(fault->meshes, std::vector<std::string>{"tp=2"});
}

// The least change comes first: other limits, then more devices, then a larger batch.
TEST(NeededAxes, ComeWithWhatIsNearest) {
  using Change = NoMesh::Nearest::Change;
  planner::Space fixed = spaceOf(2, 2), few = spaceOf(1, 2), narrow = spaceOf(2, 1);
  fixed.allowedSizes[size_t(Role::Tensor)] = {1};
  std::optional<NoMesh> fault = faultOf({"tp"}, {2}, fixed);
  ASSERT_TRUE(fault && fault->nearest);
  EXPECT_EQ(fault->nearest->change, Change::AnySizes);
  EXPECT_EQ(fault->nearest->mesh, "tp=2");

  fault = faultOf({"tp"}, {1}, few);
  ASSERT_TRUE(fault && fault->nearest);
  EXPECT_EQ(fault->kind, NoMesh::Axis::Absent);
  EXPECT_EQ(fault->nearest->change, Change::Devices);
  EXPECT_EQ(fault->nearest->number, 2);

  fault = faultOf({"dp"}, {2}, narrow);
  ASSERT_TRUE(fault && fault->nearest);
  EXPECT_EQ(fault->nearest->change, Change::Batch);
  EXPECT_EQ(fault->nearest->number, 2);
}

} // namespace
