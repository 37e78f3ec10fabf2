// Seconds of kernels and collectives, against numbers computed by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Rates.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::cost;
using runtime::CollectiveKind;

namespace {

/// Nodes of four devices: 1 GB/s and 1 us within; 100 MB/s a device, 200 MB/s a node and 10 us
/// between; 5 us a collective.
Cluster nodes() {
  Cluster cluster;
  cluster.device.memoryBandwidth = 1e9;
  cluster.device.rates.fill({1e12, 1, 0.5, 1e11});
  LinkLevel inner, outer;
  inner.name = "inner", inner.devices = 4, inner.bandwidth = 1e9, inner.latency = 1e-6;
  outer.name = "outer", outer.bandwidth = 1e8, outer.sharedBandwidth = 2e8, outer.latency = 1e-5;
  cluster.levels = {inner, outer};
  cluster.collectiveOverhead = 5e-6;
  return cluster;
}

const std::vector<Axis> kMesh = {{"dp", 2}, {"tp", 4}};

double secondsOf(const Cluster &cluster, const std::vector<Axis> &mesh,
                 const std::vector<int32_t> &axes, CollectiveKind kind, double bytes,
                 Remarks *remarks = nullptr) {
  Remarks none;
  double seconds = Groups(mesh, axes, cluster).seconds(kind, bytes, remarks ? *remarks : none);
  EXPECT_TRUE(none.empty());
  return seconds;
}

TEST(FastestOf, HasNoPartFasterThanItsPart) {
  Device device = nodes().device;
  device.streamPoints = {{1e5, 2e-6}, {1e6, 1e-5}, {1e7, 1e-2}};
  device.gemmPoints = {{Arithmetic::F32, 1, 64, 64, 64, 1e-5},
                       {Arithmetic::F32, 1, 512, 512, 512, 1e-3},
                       {Arithmetic::BF16, 1, 512, 512, 512, 1e-4}};
  Device fastest = fastestOf(device);
  ASSERT_EQ(fastest.streamPoints.size(), 1u);
  EXPECT_EQ(fastest.streamPoints[0].bytes, 1e6);
  ASSERT_EQ(fastest.gemmPoints.size(), 2u);
  EXPECT_EQ(fastest.gemmPoints[0].m, 512); // 3.7 ps a product of numbers, against 38 ps
  Remarks remarks;
  auto time = [&](const Device &on, Shape::Kind kind, int64_t size) {
    Work work;
    work.shape.kind = kind;
    work.shape.m = work.shape.n = work.shape.k = size;
    work.launches = 1;
    if (kind == Shape::Kind::Stream)
      work.bytesRead = size;
    else
      work.flops = 2 * size * size * size;
    return timeOf(work, on, remarks);
  };
  for (int64_t bytes = 1 << 10; bytes < 1 << 26; bytes *= 2) {
    EXPECT_LE(time(fastest, Shape::Kind::Stream, bytes), time(device, Shape::Kind::Stream, bytes));
    EXPECT_LE(time(fastest, Shape::Kind::Stream, bytes),
              2 * time(device, Shape::Kind::Stream, bytes / 2) + 2);
  }
  for (int64_t size = 32; size < 2048; size *= 2) {
    EXPECT_LE(time(fastest, Shape::Kind::Gemm, size), time(device, Shape::Kind::Gemm, size));
    EXPECT_LE(time(fastest, Shape::Kind::Gemm, size),
              8 * time(device, Shape::Kind::Gemm, size / 2) + 8);
  }
}

TEST(Groups, WithinANode) {
  // A ring: 6 steps, 3/2 of the bytes.
  EXPECT_NEAR(secondsOf(nodes(), kMesh, {1}, CollectiveKind::AllReduce, 4e6),
              5e-6 + 6e-6 + 6e6 / 1e9, 1e-12);
  // Few bytes go over a tree: 4 steps, twice the bytes.
  EXPECT_NEAR(secondsOf(nodes(), kMesh, {1}, CollectiveKind::AllReduce, 100),
              5e-6 + 4e-6 + 200 / 1e9, 1e-12);
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllToAll})
    EXPECT_NEAR(secondsOf(nodes(), kMesh, {1}, kind, 4e6), 5e-6 + 3e-6 + 3e6 / 1e9, 1e-12);
}

TEST(Groups, GroupsShareWhatANodeHas) {
  // Four groups of two: each sends 4e6 bytes out of the node, which has 200 MB/s for 16e6.
  EXPECT_NEAR(secondsOf(nodes(), kMesh, {0}, CollectiveKind::AllReduce, 4e6),
              5e-6 + 2e-5 + 16e6 / 2e8, 1e-12);
  // One group of two in a mesh of two devices in each node: its own 100 MB/s.
  Cluster pairs = nodes();
  pairs.levels[0].devices = 1;
  EXPECT_NEAR(secondsOf(pairs, {{"dp", 2}}, {0}, CollectiveKind::AllReduce, 4e6),
              5e-6 + 2e-5 + 4e6 / 1e8, 1e-12);
}

TEST(Groups, OverTwoLevels) {
  // All eight: a ring would send 14e6 bytes out of each node, in 70 ms. Level by level: within the
  // node 12e6 bytes at 1 GB/s, then 8e6 out of the node, which its four members share.
  EXPECT_NEAR(secondsOf(nodes(), kMesh, {0, 1}, CollectiveKind::AllReduce, 8e6),
              5e-6 + (6e-6 + 12e6 / 1e9) + (2e-5 + 8e6 / 2e8), 1e-12);
  // The order of axes is none.
  EXPECT_EQ(secondsOf(nodes(), kMesh, {1, 0}, CollectiveKind::AllReduce, 8e6),
            secondsOf(nodes(), kMesh, {0, 1}, CollectiveKind::AllReduce, 8e6));
  // Half of what four members have goes to the other node: 16e6 bytes.
  EXPECT_NEAR(secondsOf(nodes(), kMesh, {0, 1}, CollectiveKind::AllToAll, 8e6),
              5e-6 + 6e-6 + 1e-5 + 16e6 / 2e8, 1e-12);
}

TEST(Groups, WhatGoesFarTakesTheLinksBetween) {
  // Nodes of four that share 100 MB/s, two of them in a rack: the four groups of two leave the node
  // by these links, whatever the racks are joined by.
  Cluster racks = nodes();
  LinkLevel middle = racks.levels[1];
  middle.name = "middle", middle.devices = 8, middle.sharedBandwidth = 1e8;
  racks.levels[1].sharedBandwidth = 0;
  racks.levels.insert(racks.levels.begin() + 1, middle);
  const std::vector<Axis> mesh = {{"dp", 2}, {"tp", 8}};
  EXPECT_NEAR(secondsOf(racks, mesh, {0}, CollectiveKind::AllReduce, 4e6),
              5e-6 + 2e-5 + 4 * 4e6 / 1e8, 1e-12);
  EXPECT_NEAR(secondsOf(racks, mesh, {0}, CollectiveKind::AllToAll, 4e6),
              5e-6 + 1e-5 + 4 * 2e6 / 1e8, 1e-12);
}

TEST(Groups, ANameIsThatOfAnAxissParts) {
  Cluster named = nodes();
  named.axisLevels = {{"dp", "outer"}};
  EXPECT_DOUBLE_EQ(
      secondsOf(named, {{"dp.0", 2}, {"dp.1", 2}}, {0, 1}, CollectiveKind::AllReduce, 4e6),
      secondsOf(named, {{"dp", 4}}, {0}, CollectiveKind::AllReduce, 4e6));
  EXPECT_GT(secondsOf(named, {{"dp", 4}}, {0}, CollectiveKind::AllReduce, 4e6),
            secondsOf(named, {{"dpx", 4}}, {0}, CollectiveKind::AllReduce, 4e6));
  // Stages hand on over the links that are named, too.
  named.axisLevels = {{"pp", "outer"}};
  EXPECT_DOUBLE_EQ(secondsOfTransfer({{"pp", 2}}, 0, 0, 1, 1e6, named), 1e-5 + 1e6 / 1e8);
  EXPECT_DOUBLE_EQ(secondsOfTransfer({{"pp", 2}}, 0, 0, 1, 1e6, nodes()), 1e-6 + 1e6 / 1e9);
}

TEST(Groups, WhichAxisIsInsideIsTheOrderOfTheMesh) {
  std::vector<Axis> inside = {{"dp", 2}, {"tp", 4}}, outside = {{"tp", 4}, {"dp", 2}};
  EXPECT_LT(secondsOf(nodes(), inside, {1}, CollectiveKind::AllReduce, 1e6),
            secondsOf(nodes(), outside, {0}, CollectiveKind::AllReduce, 1e6));
  // What a cluster says of an axis goes before.
  Cluster named = nodes();
  named.axisLevels = {{"tp", "inner"}};
  EXPECT_EQ(secondsOf(named, outside, {0}, CollectiveKind::AllReduce, 1e6),
            secondsOf(nodes(), inside, {1}, CollectiveKind::AllReduce, 1e6));
}

TEST(Groups, AGroupThatCrossesABorderIsCounted) {
  // Groups of three in nodes of four: of ranks 4..7 two groups have members elsewhere, of 2e6 bytes
  // each; level by level that is 1.5e6.
  std::vector<Axis> mesh = {{"dp", 4}, {"tp", 3}};
  EXPECT_NEAR(secondsOf(nodes(), mesh, {1}, CollectiveKind::AllGather, 3e6),
              5e-6 + (2e-6 + 2e6 / 1e9) + (1e-5 + 2 * 1.5e6 / 2e8), 1e-12);
}

TEST(Groups, OneMemberAndNothingToSendTakeNoTime) {
  EXPECT_EQ(secondsOf(nodes(), {{"tp", 1}}, {0}, CollectiveKind::AllReduce, 4e6), 0);
  EXPECT_EQ(secondsOf(nodes(), kMesh, {1}, CollectiveKind::AllReduce, 0), 0);
}

TEST(Groups, MeasuredPointsWin) {
  Cluster cluster = nodes();
  cluster.collectivePoints = {{CollectiveKind::AllReduce, "inner", 4, 1e6, 3e-3},
                              {CollectiveKind::AllReduce, "inner", 4, 3e6, 5e-3},
                              {CollectiveKind::AllReduce, "outer", 4, 1e6, 9}};
  EXPECT_DOUBLE_EQ(secondsOf(cluster, kMesh, {1}, CollectiveKind::AllReduce, 1e6), 3e-3);
  EXPECT_DOUBLE_EQ(secondsOf(cluster, kMesh, {1}, CollectiveKind::AllReduce, 2e6), 4e-3);
  // Outside: the formula, scaled to the nearest point, and a remark.
  Remarks remarks;
  EXPECT_NEAR(secondsOf(cluster, kMesh, {1}, CollectiveKind::AllReduce, 6e6, &remarks),
              5e-3 * (11e-6 + 9e-3) / (11e-6 + 4.5e-3), 1e-12);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(*remarks.begin(), "all_reduce of 4 members over 'inner' was not measured with more "
                              "than 3000000 bytes");
  // Others stay with the formula.
  EXPECT_NEAR(secondsOf(cluster, kMesh, {1}, CollectiveKind::AllGather, 4e6),
              5e-6 + 3e-6 + 3e6 / 1e9, 1e-12);
}

TEST(Transfers, ShareLinks) {
  // From node to node: four devices share 200 MB/s.
  EXPECT_NEAR(secondsOfTransfer({{"pp", 2}, {"tp", 4}}, 0, 0, 1, 1e6, nodes()), 1e-5 + 4e6 / 2e8,
              1e-12);
  EXPECT_NEAR(secondsOfTransfer({{"pp", 2}, {"tp", 2}}, 0, 0, 1, 1e6, nodes()), 1e-6 + 1e6 / 1e9,
              1e-12);
  // Back from the last stage to the first, for chunks that go round.
  EXPECT_NEAR(secondsOfTransfer({{"pp", 4}, {"tp", 4}}, 0, 3, 0, 1e6, nodes()), 1e-5 + 4e6 / 2e8,
              1e-12);
  EXPECT_EQ(secondsOfTransfer({{"pp", 2}}, 0, 0, 1, 0, nodes()), 0);
}

Work product(int64_t m, int64_t n, int64_t k) {
  Work work;
  work.shape.kind = Shape::Kind::Gemm;
  work.shape.m = m, work.shape.n = n, work.shape.k = k;
  work.flops = 2 * m * n * k;
  return work;
}

int64_t timeOn(const Device &device, const Work &work) {
  Remarks remarks;
  int64_t time = timeOf(work, device, remarks);
  EXPECT_TRUE(remarks.empty());
  return time;
}

TEST(Kernels, AreBoundByWhatTakesLongest) {
  Device device = nodes().device;
  Work work = product(100, 100, 100);
  EXPECT_EQ(timeOn(device, work), 2000000); // 2e6 operations at 1e12
  work.bytesRead = 1000, work.bytesWritten = 2000;
  EXPECT_EQ(timeOn(device, work), 3000000); // 3000 bytes at 1e9
  work.shape.kind = Shape::Kind::Stream;
  EXPECT_EQ(timeOn(device, work), 20000000); // 2e6 operations at 1e11
  work.shape.kind = Shape::Kind::Attention;
  EXPECT_EQ(timeOn(device, work), 4000000); // at 0.5e12
  device.gapSeconds = 1e-6;
  work.launches = 2;
  EXPECT_EQ(timeOn(device, work), 6000000);
  work.launches = 0;
  EXPECT_EQ(timeOn(device, work), 0);
}

TEST(Kernels, ProductsFillWholeWavesOfTiles) {
  Device device = nodes().device;
  device.units = 4;
  device.tiles = {{128, 128, 1}, {64, 64, 0.5}};
  // One wave of four tiles: all units are busy.
  EXPECT_EQ(timeOn(device, product(256, 256, 100)), 2 * 256 * 256 * 100);
  // A fifth tile begins another wave, in which three units have nothing to do; of the small tiles
  // there are 17, in five waves.
  int64_t large = 2 * 4 * 2 * 128 * 128 * 100, small = 5 * 4 * 2 * 64 * 64 * 100 * 2;
  EXPECT_LT(large, small);
  EXPECT_EQ(timeOn(device, product(5 * 128, 128, 100)), large);
  // Small results: one small tile, not a large one.
  EXPECT_EQ(timeOn(device, product(64, 64, 100)), 4 * 2 * 64 * 64 * 100 * 2);
}

TEST(Kernels, MeasuredProductsWin) {
  Device device = nodes().device;
  device.gemmPoints = {{Arithmetic::F32, 1, 100, 100, 100, 5e-6},
                       {Arithmetic::F32, 1, 400, 100, 100, 16e-6},
                       {Arithmetic::BF16, 1, 100, 100, 100, 1}};
  EXPECT_EQ(timeOn(device, product(100, 100, 100)), 5000000);
  // In the middle of points with 2.5 and 2 times the formula.
  EXPECT_EQ(timeOn(device, product(200, 100, 100)), 9000000);
  Remarks remarks;
  timeOf(product(800, 100, 100), device, remarks);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(*remarks.begin(),
            "products of f32 such as 1 x [800, 100] x [100, 100] are outside what was measured");
}

TEST(Kernels, MeasuredAttentionAndConvolutionsHavePointsOfTheirOwn) {
  Device device = nodes().device;
  Work attention;
  attention.shape.kind = Shape::Kind::Attention;
  attention.shape.batch = 4, attention.shape.m = attention.shape.n = 32, attention.shape.k = 16;
  attention.flops = 4 * 4 * 32 * 32 * 16;
  Work gradient = attention;
  gradient.flops = 10 * 4 * 32 * 32 * 16;
  // Of one shape, and told apart by what they do for each of its points.
  device.attentionPoints = {{Arithmetic::F32, 4, 32, 32, 16, 3e-6, 4},
                            {Arithmetic::F32, 4, 32, 32, 16, 9e-6, 10}};
  EXPECT_EQ(timeOn(device, attention), 3000000);
  EXPECT_EQ(timeOn(device, gradient), 9000000);
  Work convolution = product(64, 16, 144);
  convolution.shape.kind = Shape::Kind::Conv;
  device.gemmPoints = {{Arithmetic::F32, 1, 64, 16, 144, 5e-6}};
  EXPECT_EQ(timeOn(device, convolution), 5000000);
  device.convPoints = {{Arithmetic::F32, 1, 64, 16, 144, 7e-6}};
  EXPECT_EQ(timeOn(device, convolution), 7000000);
  EXPECT_EQ(timeOn(device, product(64, 16, 144)), 5000000);
}

TEST(Kernels, BytesTakeWhatWasMeasuredAroundThem) {
  Device device = nodes().device;
  device.streamPoints = {{1000, 1e-6}, {3000, 2e-6}};
  auto streamed = [&](int64_t bytes) {
    Work work;
    work.bytesRead = bytes;
    return timeOn(device, work);
  };
  EXPECT_EQ(streamed(500), 500000);
  EXPECT_EQ(streamed(1000), 1000000);
  EXPECT_EQ(streamed(2000), 1500000);
  EXPECT_EQ(streamed(6000), 4000000);
}

} // namespace
