// Seconds of collectives and of arithmetic, against numbers computed by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/CostModel.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace weft;

namespace {

/// Machines of four devices: 1 GB/s and 1 us within, 100 MB/s and 10 us between; 5 us a collective.
Cluster twoLevels() {
  Cluster cluster;
  cluster.device.memoryBytes = 1e9;
  cluster.device.memoryBandwidth = 1e9;
  cluster.device.rates.fill({1e12, 1, 1, 1e12});
  cluster.levels.push_back({"machine", 4, 1e9, 1, 1e-6});
  cluster.levels.push_back({"network", 0, 1e8, 1, 1e-5});
  cluster.collectiveOverhead = 5e-6;
  return cluster;
}

CostModel modelOf(const char *mesh, Cluster cluster = twoLevels()) {
  return CostModel(*Mesh::parse(mesh), std::move(cluster));
}

constexpr TransitionKind kCollectives[] = {TransitionKind::AllGather, TransitionKind::AllReduce,
                                           TransitionKind::ReduceScatter, TransitionKind::AllToAll};

TEST(CostModel, CountsMessagesAndBytes) {
  CostModel model = modelOf("tp=4");
  // Recursive doubling: 2 messages, 3/4 of the result.
  EXPECT_DOUBLE_EQ(model.seconds(TransitionKind::AllGather, {0}, 1e6, 4e6),
                   5e-6 + 2e-6 + 3e6 / 1e9);
  EXPECT_DOUBLE_EQ(model.seconds(TransitionKind::ReduceScatter, {0}, 4e6, 1e6),
                   5e-6 + 2e-6 + 3e6 / 1e9);
  EXPECT_DOUBLE_EQ(model.seconds(TransitionKind::AllReduce, {0}, 4e6, 4e6),
                   5e-6 + 4e-6 + 6e6 / 1e9);
  // Pairwise: 3 messages, 3/4 of the operand.
  EXPECT_DOUBLE_EQ(model.seconds(TransitionKind::AllToAll, {0}, 4e6, 4e6), 5e-6 + 3e-6 + 3e6 / 1e9);
}

TEST(CostModel, TakesTheBestOfRingAndTree) {
  CostModel model = modelOf("tp=3,x=1");
  // Three members are no power of two: the ring has 4 messages and 4/3 of the bytes, the tree as
  // many messages and all bytes twice.
  EXPECT_DOUBLE_EQ(model.seconds(TransitionKind::AllReduce, {0}, 3e6, 3e6),
                   5e-6 + 4e-6 + 4e6 / 1e9);
  // Of seven members and few bytes the ring has 12 messages, the tree 6.
  CostModel seven = modelOf("tp=7");
  EXPECT_DOUBLE_EQ(seven.seconds(TransitionKind::AllReduce, {0}, 70, 70),
                   5e-6 + 6 * (1e-5 + 70 / 1e8));
  EXPECT_DOUBLE_EQ(seven.seconds(TransitionKind::AllReduce, {0}, 7e6, 7e6),
                   5e-6 + 12 * 1e-5 + 2 * 6e6 / 1e8);
}

TEST(CostModel, LocalStepsAndGroupsOfOneTakeNoTime) {
  CostModel model = modelOf("dp=1,tp=4");
  for (TransitionKind kind :
       {TransitionKind::Slice, TransitionKind::Mask, TransitionKind::Partialize})
    EXPECT_EQ(model.seconds(kind, {1}, 4e6, 4e6), 0);
  for (TransitionKind kind : kCollectives)
    EXPECT_EQ(model.seconds(kind, {0}, 4e6, 4e6), 0);
}

TEST(CostModel, FindsTheLinksOfAnAxis) {
  CostModel model = modelOf("pod=2,dp=2,tp=4");
  EXPECT_EQ(model.linksOf({2}).name, "machine");
  EXPECT_EQ(model.linksOf({1}).name, "network"); // ranks 0 and 4
  EXPECT_EQ(model.linksOf({1, 2}).name, "network");
  EXPECT_EQ(model.linksOf({}).name, "machine");
  // 0..2 are in one machine, 3..5 are not.
  EXPECT_EQ(modelOf("dp=2,tp=3").linksOf({1}).name, "network");
  EXPECT_EQ(modelOf("dp=2,tp=2").linksOf({0}).name, "machine"); // 0 and 2 of 0..3
  Mesh withTime = *Mesh::parse("dp=2,tp=2");
  withTime.axes.push_back({"mb", 8, AxisKind::Temporal});
  EXPECT_EQ(CostModel(withTime, twoLevels()).linksOf({0}).name, "machine");
  Cluster named = twoLevels();
  named.axisLevels.push_back({"dp", "machine"});
  EXPECT_EQ(modelOf("dp=2x2,tp=4", named).linksOf({0}).name, "machine");
  // Over an axis of one device nobody communicates, whatever its name.
  named.axisLevels.push_back({"pod", "network"});
  EXPECT_EQ(modelOf("pod=1,dp=2,tp=2", named).linksOf({0, 1}).name, "machine");
  EXPECT_EQ(modelOf("pod=2,dp=2,tp=2", named).linksOf({0, 1}).name, "network");
}

TEST(CostModel, FindsTheAxesThatAMeshLacks) {
  Cluster named = twoLevels();
  named.axisLevels = {{"dp", "machine"}, {"dq", "network"}, {"tp.0", "network"}};
  EXPECT_EQ(modelOf("dp=2x2,tp=4", named).unknownAxes(), std::vector<std::string>({"dq", "tp.0"}));
  EXPECT_TRUE(modelOf("dq=2,dp=2,tp=2x2", named).unknownAxes().empty());
}

TEST(CostModel, MoreBytesAreNeverCheaperAndSlowLinksNeverFaster) {
  for (const char *mesh : {"tp=2", "tp=3", "tp=4", "tp=6", "tp=8"})
    for (TransitionKind kind : kCollectives) {
      CostModel model = modelOf(mesh);
      double before = 0;
      for (double bytes = 1; bytes < 1e10; bytes *= 3) {
        double now = model.seconds(kind, {0}, bytes, bytes);
        EXPECT_GT(now, before) << mesh;
        before = now;
        for (auto change : {+[](LinkLevel &level) { level.bandwidth /= 2; },
                            +[](LinkLevel &level) { level.efficiency /= 2; },
                            +[](LinkLevel &level) { level.latency *= 2; }}) {
          Cluster slower = twoLevels();
          for (LinkLevel &level : slower.levels)
            change(level);
          EXPECT_GT(modelOf(mesh, slower).seconds(kind, {0}, bytes, bytes), now) << mesh;
        }
      }
    }
  CostModel model = modelOf("dp=2,tp=4");
  for (TransitionKind kind : kCollectives)
    EXPECT_GT(model.seconds(kind, {0}, 4096, 4096),
              modelOf("dp=4,tp=2").seconds(kind, {1}, 4096, 4096));
}

TEST(CostModel, ReducesAndScattersNoDearerThanItReducesAll) {
  for (int64_t n = 2; n <= 64; ++n) {
    CostModel model = modelOf(("tp=" + std::to_string(n)).c_str());
    for (double bytes = 64; bytes < 1e9; bytes *= 4)
      EXPECT_LE(model.seconds(TransitionKind::ReduceScatter, {0}, bytes, bytes / double(n)),
                model.seconds(TransitionKind::AllReduce, {0}, bytes, bytes))
          << n << " members, " << bytes << " bytes";
  }
}

TEST(CostModel, ScatterAndGatherAreAsGoodAsAllReduceButForTheStart) {
  for (const char *mesh : {"tp=2", "tp=4", "tp=16"}) {
    CostModel model = modelOf(mesh);
    double n = model.mesh().size(0);
    double both = model.seconds(TransitionKind::ReduceScatter, {0}, 1e6, 1e6 / n) +
                  model.seconds(TransitionKind::AllGather, {0}, 1e6 / n, 1e6);
    EXPECT_NEAR(both, model.seconds(TransitionKind::AllReduce, {0}, 1e6, 1e6) + 5e-6, 1e-12);
  }
}

TEST(CostModel, ComputationIsBoundByArithmeticOrMemory) {
  Cluster cluster = twoLevels();
  cluster.device.rates[size_t(Arithmetic::F32)].sustained = 0.5;
  cluster.device.rates[size_t(Arithmetic::BF16)] = {4e12, 0.5, 1, 4e12};
  CostModel model = modelOf("tp=4", cluster);
  EXPECT_DOUBLE_EQ(model.seconds(1e9, 10, Arithmetic::F32), 2e-3);
  EXPECT_DOUBLE_EQ(model.seconds(1e9, 10, Arithmetic::BF16), 5e-4);
  EXPECT_DOUBLE_EQ(model.seconds(10, 1e6, Arithmetic::F32), 1e-3);
  EXPECT_EQ(model.seconds(0, 0, Arithmetic::F32), 0);
}

TEST(CostModel, TheStandardClusterScalesExactly) {
  CostModel model(*Mesh::parse("dp=2,tp=4"));
  // 16 KiB take as long as a collective takes to start.
  EXPECT_EQ(model.secondsOfPenalty({}, 16384), model.cluster().collectiveOverhead);
  EXPECT_EQ(model.seconds(TransitionKind::AllToAll, {0}, 16384, 16384),
            model.cluster().collectiveOverhead +
                model.secondsOfMessages(TransitionKind::AllToAll, {0}, 16384, 16384));
  for (double bytes : {1.0, 3.0, 12345.0, 1e9 + 1})
    EXPECT_EQ(model.secondsOfPenalty({}, bytes) * 0x1p33, bytes);
}

TEST(CostModel, KnowsKindsOfNumbers) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  EXPECT_EQ(arithmeticOf(builder.getF64Type()), Arithmetic::F64);
  EXPECT_EQ(arithmeticOf(mlir::RankedTensorType::get({2}, builder.getF32Type())), Arithmetic::F32);
  EXPECT_EQ(arithmeticOf(builder.getBF16Type()), Arithmetic::BF16);
  EXPECT_EQ(arithmeticOf(builder.getF16Type()), Arithmetic::F16);
  EXPECT_EQ(arithmeticOf(mlir::Float8E4M3FNType::get(&context)), Arithmetic::F8);
  EXPECT_EQ(arithmeticOf(builder.getI64Type()), Arithmetic::Integer);
}

} // namespace
