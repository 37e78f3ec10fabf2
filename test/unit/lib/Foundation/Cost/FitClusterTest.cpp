// What measurements make of a machine, against numbers computed by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/FitCluster.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::cost;
using runtime::CollectiveKind;

namespace {

MeasuredKernel product(Shape::Kind kind, Arithmetic type, int64_t size, double flopsASecond) {
  MeasuredKernel kernel;
  kernel.work.shape = {kind, 1, size, size, size, false};
  kernel.work.arithmetic = type;
  kernel.work.flops = 2 * size * size * size;
  kernel.seconds = double(kernel.work.flops) / flopsASecond;
  return kernel;
}

MeasuredKernel stream(int64_t bytes, int64_t flops, double seconds) {
  MeasuredKernel kernel;
  kernel.work.bytesRead = kernel.work.bytesWritten = bytes / 2;
  kernel.work.flops = flops;
  kernel.seconds = seconds;
  return kernel;
}

/// Products of two sizes, of which the larger one has 80 % of the other's rate; attention half of
/// it; 2 GB/s, and functions at 1 Gflop/s.
Measurements machine() {
  Measurements measured;
  for (Arithmetic type : {Arithmetic::F32, Arithmetic::BF16, Arithmetic::F16, Arithmetic::F64}) {
    measured.kernels.push_back(product(Shape::Kind::Gemm, type, 64, 1e10));
    measured.kernels.push_back(product(Shape::Kind::Gemm, type, 128, 8e9));
  }
  measured.kernels.push_back(product(Shape::Kind::Attention, Arithmetic::F32, 64, 5e9));
  measured.kernels.push_back(stream(1000, 0, 1e-6));
  measured.kernels.push_back(stream(2000, 0, 5e-7));
  measured.kernels.push_back(stream(4000, 0, 2e-6));
  measured.kernels.push_back(stream(100, 1000, 1e-6));
  measured.gapSeconds = 3e-6;
  return measured;
}

TEST(FitCluster, OfKernels) {
  Device device = fitCluster(machine()).device;
  for (Arithmetic type : {Arithmetic::F32, Arithmetic::BF16}) {
    const ComputeRate &rate = device.rates[size_t(type)];
    EXPECT_DOUBLE_EQ(rate.flops, 1e10);
    EXPECT_DOUBLE_EQ(rate.sustained, 0.8);
    EXPECT_DOUBLE_EQ(rate.attentionSustained, 0.5);
    EXPECT_DOUBLE_EQ(rate.vectorFlops, 1e9);
  }
  EXPECT_DOUBLE_EQ(device.rates[size_t(Arithmetic::F64)].vectorFlops, 5e8);
  EXPECT_DOUBLE_EQ(device.memoryBandwidth, 2e9);
  EXPECT_DOUBLE_EQ(device.gapSeconds, 3e-6);
  EXPECT_EQ(device.gemmPoints.size(), 8u);
}

TEST(FitCluster, MoreBytesTakeNoLess) {
  std::vector<StreamPoint> points = fitCluster(machine()).device.streamPoints;
  ASSERT_EQ(points.size(), 3u);
  EXPECT_DOUBLE_EQ(points[1].seconds, 1e-6);
  EXPECT_DOUBLE_EQ(points[2].seconds, 2e-6);
}

TEST(FitCluster, KernelsThatDifferInLayoutAreOne) {
  Measurements measured = machine();
  MeasuredKernel other = measured.kernels.front();
  other.seconds *= 3;
  measured.kernels.push_back(other);
  std::vector<GemmPoint> points = fitCluster(measured).device.gemmPoints;
  ASSERT_EQ(points.size(), 8u);
  double least = 1, seconds = 2 * measured.kernels.front().seconds;
  for (const GemmPoint &point : points)
    least = std::min(least, std::abs(point.seconds - seconds));
  EXPECT_LT(least, 1e-12);
}

// Of four ranks: 10 us to begin, 2 us a message, 1 GB/s.
TEST(FitCluster, OfCollectives) {
  Measurements measured = machine();
  measured.ranks = 4;
  for (auto [kind, bytes, seconds] :
       // As calibration has them, by name: sums first.
       {std::tuple(CollectiveKind::AllReduce, 4.0, 10e-6 + 6 * 2e-6),
        std::tuple(CollectiveKind::AllGather, 4.0, 10e-6 + 3 * 2e-6),
        std::tuple(CollectiveKind::AllReduce, 4e6, 2 * 4e6 * 3 / 4 / 1e9)})
    measured.collectives.push_back({kind, "", 4, bytes, seconds});
  Cluster cluster = fitCluster(measured);
  ASSERT_EQ(cluster.levels.size(), 1u);
  EXPECT_NEAR(cluster.levels[0].latency, 2e-6, 1e-12);
  EXPECT_NEAR(cluster.levels[0].bandwidth, 1e9, 1);
  EXPECT_NEAR(cluster.collectiveOverhead, 10e-6, 1e-12);
}

TEST(FitCluster, OneRankHasMemoryAsItsLinks) {
  Cluster cluster = fitCluster(machine());
  ASSERT_EQ(cluster.levels.size(), 1u);
  EXPECT_DOUBLE_EQ(cluster.levels[0].bandwidth, 2e9);
  EXPECT_EQ(cluster.levels[0].latency, 0);
}

} // namespace
