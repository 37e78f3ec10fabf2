// What cluster files may hold, and what is said of others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Cluster.h"

#include <gtest/gtest.h>

using namespace weft;

namespace {

const std::string kDevice = R"(device {
  memory { bytes: 8e10 bandwidth: 2e12 origin: "x" }
  rate { type: "f32" flops: 2e13 origin: "x" }
  rate { type: "bf16" flops: 3e14 sustained: 0.8 vector_flops: 4e13 origin: "x" }
}
)";
const std::string kLinks =
    R"(link { name: "nvlink" devices: 8 bandwidth: 3e11 latency: 2e-6 origin: "x" }
link { name: "ib" bandwidth: 2.5e10 shared_bandwidth: 1e11 sustained: 0.8 origin: "x" }
)";

std::string errorOf(const std::string &text) {
  std::string error;
  return readCluster(text, error) ? "" : error;
}

TEST(ClusterFile, IsRead) {
  std::string error;
  std::optional<Cluster> cluster =
      readCluster("name: \"pod\"\n" + kDevice + kLinks +
                      R"(collective_overhead { seconds: 1e-5 origin: "x" }
uncertainty { share: 0.1 origin: "x" }
axis { name: "dp" link: "ib" }
host { memory_bytes: 1e12 bandwidth: 2e10 devices: 8 origin: "x" }
collective_point { kind: "all_gather" link: "ib" members: 16 bytes: 1e6 seconds: 1e-3 origin: "x" }
)",
                  error);
  ASSERT_TRUE(cluster) << error;
  EXPECT_EQ(cluster->name, "pod");
  EXPECT_EQ(cluster->uncertainty, 0.1);
  EXPECT_EQ(cluster->collectiveOverhead, 1e-5);
  EXPECT_EQ(cluster->device.memoryBytes, 8e10);
  const ComputeRate &bf16 = cluster->device.rates[size_t(Arithmetic::BF16)];
  EXPECT_EQ(bf16.flops, 3e14);
  EXPECT_EQ(bf16.vectorFlops, 4e13);
  EXPECT_EQ(bf16.attentionSustained, 0.8);
  // No unit of its own: as f32.
  EXPECT_EQ(cluster->device.rates[size_t(Arithmetic::F64)].flops, 2e13);
  ASSERT_EQ(cluster->levels.size(), 2u);
  EXPECT_EQ(cluster->levels[0].devices, 8);
  EXPECT_EQ(cluster->levels[1].devices, 0);
  EXPECT_EQ(cluster->levels[1].sharedBandwidth, 1e11);
  EXPECT_DOUBLE_EQ(cluster->levels[1].secondsOf(2e10), 1);
  ASSERT_EQ(cluster->axisLevels.size(), 1u);
  EXPECT_EQ(cluster->axisLevels[0].second, "ib");
  ASSERT_EQ(cluster->collectivePoints.size(), 1u);
  EXPECT_EQ(cluster->collectivePoints[0].kind, runtime::CollectiveKind::AllGather);
  ASSERT_TRUE(cluster->host);
  EXPECT_EQ(cluster->host->devices, 8);
}

TEST(ClusterFile, PointsOfKernelsAreRead) {
  auto with = [](const std::string &points) {
    return "device { memory { bytes: 8e10 bandwidth: 2e12 origin: \"x\" }\n"
           "rate { type: \"f32\" flops: 2e13 origin: \"x\" }\n" +
           points + "}\n" + kLinks;
  };
  std::string error;
  std::optional<Cluster> cluster =
      readCluster(with(R"(conv_point { type: "f32" m: 64 n: 16 k: 144 seconds: 1e-5 origin: "x" }
attention_point { type: "bf16" batch: 8 m: 128 n: 128 k: 64 each: 2.1 seconds: 1e-4 origin: "x" }
stream_point { bytes: 1000 seconds: 1e-6 origin: "x" }
stream_point { bytes: 1e6 seconds: 1e-4 origin: "x" }
)"),
                  error);
  ASSERT_TRUE(cluster) << error;
  ASSERT_EQ(cluster->device.convPoints.size(), 1u);
  EXPECT_EQ(cluster->device.convPoints[0].each, 2);
  ASSERT_EQ(cluster->device.attentionPoints.size(), 1u);
  EXPECT_EQ(cluster->device.attentionPoints[0].each, 2.1);
  ASSERT_EQ(cluster->device.streamPoints.size(), 2u);
  EXPECT_EQ(cluster->device.streamPoints[1].seconds, 1e-4);
  std::string first = "stream_point { bytes: 1000 seconds: 1e-6 origin: \"x\" }\n";
  EXPECT_EQ(errorOf(with(first + "stream_point { bytes: 1000 seconds: 1 origin: \"x\" }\n")),
            "line 4: 'device.stream_point[1].bytes' must be more than that of the point before");
  EXPECT_EQ(
      errorOf(with(first + "stream_point { bytes: 2000 seconds: 1e-9 origin: \"x\" }\n")),
      "line 4: 'device.stream_point[1].seconds' must not be less than that of the point before");
}

TEST(ClusterFile, ErrorsNameTheLineAndTheRemedy) {
  EXPECT_EQ(errorOf(""), "line 1: 'device' is missing: give a device in { }");
  EXPECT_EQ(errorOf(kLinks), "line 1: 'device' is missing: give a device in { }");
  EXPECT_EQ(errorOf(kDevice), "line 1: 'link' is missing: give one or more, the nearest first");
  EXPECT_EQ(errorOf("{"), "line 1: Expected identifier, got: {");
  EXPECT_EQ(errorOf("name: \"a\"\nlinks { }"),
            "line 2: Message type \"weft.schema.Cluster\" has no field named \"links\".");
  EXPECT_EQ(errorOf("device {\n memory { bytes: 1 bandwidth: \"fast\" } }"),
            "line 2: Expected double, got: \"fast\"");
  EXPECT_EQ(errorOf("device {\n memory { bytes: 1\n bandwidth: nan } }"),
            "line 3: 'device.memory.bandwidth' must be a number from 1 to 1e+21");
  EXPECT_EQ(errorOf("device {\n memory { bytes: 1 bandwidth: 1 } }"),
            "line 2: 'device.memory' does not say where its numbers come from: give 'origin'");
  EXPECT_EQ(errorOf("device {\n memory { bytes: 1 bandwidth: 1 origin: \"\" } }"),
            "line 2: 'device.memory.origin' must not be empty");
  EXPECT_EQ(errorOf("\ndevice { memory { bytes: 1 bandwidth: 1 origin: \"x\" } }"),
            "line 2: 'device.rate' is missing for f32: give its flops");
  EXPECT_EQ(errorOf("device { memory { bytes: 1 bandwidth: 1 origin: \"x\" }\n"
                    "rate { type: \"f31\" flops: 1 origin: \"x\" } }"),
            "line 2: 'device.rate[0].type' must be one of f64, f32, f16, bf16, f8, integer");
  EXPECT_EQ(errorOf("device { memory { bytes: 1 bandwidth: 1 origin: \"x\" }\n"
                    "rate { type: \"f32\" flops: 1 origin: \"x\" }\n"
                    "rate { type: \"f32\" flops: 1 origin: \"x\" } }"),
            "line 3: 'device.rate[1].type' is that of another rate: give each once");
  // The device has five lines.
  auto links = [](const std::string &text) { return errorOf(kDevice + text); };
  EXPECT_EQ(links("link { name: \"a\" bandwidth: 0 origin: \"x\" }"),
            "line 6: 'link[0].bandwidth' must be a number from 1 to 1e+21");
  EXPECT_EQ(links("link { name: \"a\" bandwidth: 1 devices: 4 origin: \"x\" }"),
            "line 6: 'link[0].devices' must not be there: the last links join all devices");
  EXPECT_EQ(links("link { name: \"a\" bandwidth: 1 devices: 4 origin: \"x\" }\n"
                  "link { name: \"b\" bandwidth: 1 devices: 6 origin: \"x\" }\n"
                  "link { name: \"c\" bandwidth: 1 origin: \"x\" }"),
            "line 7: 'link[1].devices' must be a multiple of that of the links before");
  EXPECT_EQ(links("link { name: \"a\" bandwidth: 1 devices: 4 origin: \"x\" }\n"
                  "link { name: \"a\" bandwidth: 1 origin: \"x\" }"),
            "line 7: 'link[1].name' is that of other links: give each its own");
  EXPECT_EQ(links("link { bandwidth: 1 origin: \"x\" }"),
            "line 6: 'link[0].name' is missing: give a string");
  EXPECT_EQ(links(kLinks + "axis { name: \"tp\" link: \"wifi\" }"),
            "line 8: 'axis[0].link' must be the name of one of the links");
  EXPECT_EQ(links(kLinks + "collective_point { kind: \"gather\" link: \"ib\" }"),
            "line 8: 'collective_point[0].kind' must be one of all_gather, all_reduce, "
            "reduce_scatter, all_to_all");
}

TEST(ClusterFile, HostileTextIsAnError) {
  for (const std::string &part :
       {std::string("["), std::string("device {"), std::string("\xff\xfe"), std::string("\0", 1),
        std::string("device: <"), std::string("[a.b/c] {")}) {
    std::string text;
    for (int i = 0; i < 100000; ++i)
      text += part;
    EXPECT_NE(errorOf(text), "") << part;
  }
  std::string whole = kDevice + kLinks;
  for (size_t length = 0; length < whole.size() - 1; ++length)
    errorOf(whole.substr(0, length));
}

TEST(ClusterFile, TheLibraryIsSound) {
  std::vector<std::string> names = namesOfClusters();
  EXPECT_EQ(names, (std::vector<std::string>{"a100-40gb", "a100-80gb", "a100-80gb-selene", "cpu",
                                             "gb200-nvl72", "h100", "h200", "pcie-8x-l40s"}));
  for (const std::string &name : names) {
    std::string error;
    std::optional<std::string> text = textOfCluster(name, error);
    ASSERT_TRUE(text) << error;
    std::optional<Cluster> cluster = readCluster(*text, error);
    ASSERT_TRUE(cluster) << name << ": " << error;
    EXPECT_EQ(cluster->name, name);
    EXPECT_GT(cluster->uncertainty, 0) << name;
  }
}

TEST(ClusterFile, OnlyFilesAreRead) {
  std::string error;
  EXPECT_FALSE(textOfCluster("../clusters/h100", error));
  EXPECT_EQ(error, "cannot read '../clusters/h100': No such file or directory");
  EXPECT_FALSE(textOfCluster("/dev/zero", error));
  EXPECT_EQ(error, "'/dev/zero' must be a regular file of at most 1048576 bytes");
}

} // namespace
