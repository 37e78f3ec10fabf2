// What cluster files may hold, and what is said of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Cluster.h"

#include <gtest/gtest.h>

using namespace weft;

namespace {

const std::string kDevice =
    R"("device": {"memory_bytes": 8e10, "memory_bandwidth": 2e12, "flops": {"f32": 2e13, "bf16": 3e14}})";
const std::string kLinks =
    R"("links": [{"name": "nvlink", "devices": 8, "bandwidth": 3e11, "latency": 2e-6},
                 {"name": "ib", "bandwidth": 2.5e10, "latency": 5e-6, "efficiency": 0.8}])";

std::string errorOf(const std::string &text) {
  llvm::Expected<Cluster> cluster = Cluster::parse(text);
  return cluster ? "" : toString(cluster.takeError());
}

TEST(ClusterFile, IsRead) {
  llvm::Expected<Cluster> cluster = Cluster::parse(
      "{\"name\": \"pod\", \"collective_overhead\": 1e-5, \"axes\": {\"dp\": \"ib\"}, " + kDevice +
      ", " + kLinks + "}");
  ASSERT_TRUE(bool(cluster)) << toString(cluster.takeError());
  EXPECT_EQ(cluster->name, "pod");
  EXPECT_EQ(cluster->collectiveOverhead, 1e-5);
  EXPECT_EQ(cluster->device.memoryBytes, 8e10);
  EXPECT_EQ(cluster->device.flopsPerSecond[size_t(Arithmetic::BF16)], 3e14);
  // No unit of its own: as f32.
  EXPECT_EQ(cluster->device.flopsPerSecond[size_t(Arithmetic::F64)], 2e13);
  ASSERT_EQ(cluster->levels.size(), 2u);
  EXPECT_EQ(cluster->levels[0].devices, 8);
  EXPECT_EQ(cluster->levels[1].devices, 0);
  EXPECT_DOUBLE_EQ(cluster->levels[1].secondsOf(2e10), 1);
  ASSERT_EQ(cluster->axisLevels.size(), 1u);
  EXPECT_EQ(cluster->axisLevels[0].second, "ib");
}

TEST(ClusterFile, ErrorsNameTheFieldAndTheRemedy) {
  auto with = [](const std::string &more) { return "{" + kDevice + ", " + more + "}"; };
  EXPECT_NE(errorOf("").find("is no JSON"), std::string::npos);
  EXPECT_EQ(errorOf("[]"), "must be a JSON object in { }, with 'device' and 'links'");
  EXPECT_EQ(errorOf("{" + kLinks + "}"), "'device' is missing: give an object in { }");
  EXPECT_EQ(errorOf("{" + kDevice + "}"),
            "'links' must be an array of one object or more, the nearest links first");
  EXPECT_EQ(errorOf(with(kLinks + ", \"link\": 1")),
            "'link' is no field; there are name, device, links, axes, collective_overhead, origin");
  EXPECT_EQ(errorOf(R"({"device": {"memory_bytes": 1, "memory_bandwidth": "fast"}})"),
            "'device.memory_bandwidth' must be a number from 1 to 1e+21");
  EXPECT_EQ(errorOf(R"({"device": {"memory_bytes": 1, "memory_bandwidth": 1, "flops": {}}})"),
            "'device.flops.f32' is missing: give a number from 1 to 1e+21");
  EXPECT_EQ(errorOf(with(R"("links": [{"name": "a", "bandwidth": 0}])")),
            "'links[0].bandwidth' must be a number from 1 to 1e+21");
  EXPECT_EQ(
      errorOf(with(R"("links": [{"name": "a", "bandwidth": 1e400}])")).find("'links") == 0 ||
          errorOf(with(R"("links": [{"name": "a", "bandwidth": 1e400}])")).find("is no JSON") == 0,
      true);
  EXPECT_EQ(errorOf(with(R"("links": [{"name": "a", "bandwidth": 1, "devices": 4}])")),
            "'links[0].devices' must not be there: the last links join all devices");
  EXPECT_EQ(
      errorOf(with(R"("links": [{"name": "a", "bandwidth": 1, "devices": 4},
      {"name": "b", "bandwidth": 1, "devices": 6}, {"name": "c", "bandwidth": 1}])")),
      "'links[1].devices' must be a whole number, and a multiple of that of the links before");
  EXPECT_EQ(
      errorOf(with(
          R"("links": [{"name": "a", "bandwidth": 1, "devices": 4}, {"name": "a", "bandwidth": 1}])")),
      "'links[1].name' is that of other links: give each its own");
  EXPECT_EQ(errorOf(with(kLinks + R"(, "axes": {"tp": "wifi"})")),
            "'axes.tp' must be the name of one of the links");
  EXPECT_EQ(errorOf(std::string(1 << 20, '[')),
            "is no description of a cluster: more than 1000 '{' and '[' are in it");
}

} // namespace
