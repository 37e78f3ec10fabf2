// A cluster from text that anybody may have written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Cluster.h"

#include "cluster.pb.h"
#include "weft/Cost/TextFields.h"

#include <algorithm>

using namespace weft;
using cost::Fields;

namespace {

constexpr double kLeastRate = 1, kMostRate = 1e21, kMostSeconds = 1e3, kLeastShare = 1e-3;
constexpr int64_t kMostCount = int64_t(1) << 30;

std::vector<std::string> arithmeticNames() {
  std::vector<std::string> names;
  for (size_t kind = 0; kind < kArithmeticCount; ++kind)
    names.push_back(nameOf(Arithmetic(kind)));
  return names;
}

bool readRates(Fields &fields, Device &device) {
  std::array<bool, kArithmeticCount> given = {};
  for (int i = 0; i < fields.count("rate"); ++i) {
    Fields entry = fields.child("rate", i);
    size_t kind = 0;
    if (!entry.word("type", arithmeticNames(), kind))
      return false;
    if (std::exchange(given[kind], true))
      return entry.fail("type", "is that of another rate: give each once");
    ComputeRate &rate = device.rates[kind];
    if (!entry.number("flops", kLeastRate, kMostRate, rate.flops) ||
        !entry.number("sustained", kLeastShare, 1, rate.sustained, false))
      return false;
    rate.vectorFlops = rate.flops;
    rate.attentionSustained = rate.sustained;
    if (!entry.number("vector_flops", kLeastRate, kMostRate, rate.vectorFlops, false) ||
        !entry.number("attention_sustained", kLeastShare, 1, rate.attentionSustained, false) ||
        !entry.origin())
      return false;
  }
  size_t plain = size_t(Arithmetic::F32);
  if (!given[plain])
    return fields.fail("rate", "is missing for f32: give its flops");
  // What a device has no unit for it computes as f32.
  for (size_t kind = 0; kind < kArithmeticCount; ++kind)
    if (!given[kind])
      device.rates[kind] = device.rates[plain];
  return true;
}

bool readUnits(Fields &fields, Device &device) {
  if (!fields.has("units"))
    return true;
  Fields units = fields.child("units");
  if (!units.integer("count", 1, kMostCount, device.units) ||
      !units.required("tile", "one or more") || !units.origin())
    return false;
  for (int i = 0; i < units.count("tile"); ++i) {
    Fields tile = units.child("tile", i);
    Tile &read = device.tiles.emplace_back();
    if (!tile.integer("m", 1, 1 << 16, read.m) || !tile.integer("n", 1, 1 << 16, read.n) ||
        !tile.number("share", kLeastShare, 1, read.share, false))
      return false;
  }
  return true;
}

bool readGemmPoints(Fields &fields, const char *field, double each,
                    std::vector<GemmPoint> &points) {
  for (int i = 0; i < fields.count(field); ++i) {
    Fields entry = fields.child(field, i);
    GemmPoint point;
    point.each = each;
    size_t kind = 0;
    if (!entry.word("type", arithmeticNames(), kind) ||
        !entry.integer("batch", 1, kMostCount, point.batch, false) ||
        !entry.integer("m", 1, kMostCount, point.m) ||
        !entry.integer("n", 1, kMostCount, point.n) ||
        !entry.integer("k", 1, kMostCount, point.k) ||
        !entry.number("each", kLeastShare, 1e3, point.each, false) ||
        !entry.number("seconds", 1e-9, kMostSeconds, point.seconds) || !entry.origin())
      return false;
    point.arithmetic = Arithmetic(kind);
    points.push_back(point);
  }
  return true;
}

bool readStreamPoints(Fields &fields, Device &device) {
  for (int i = 0; i < fields.count("stream_point"); ++i) {
    Fields entry = fields.child("stream_point", i);
    StreamPoint point;
    if (!entry.number("bytes", 1, kMostRate, point.bytes) ||
        !entry.number("seconds", 1e-9, kMostSeconds, point.seconds) || !entry.origin())
      return false;
    if (i > 0 && point.bytes <= device.streamPoints.back().bytes)
      return entry.fail("bytes", "must be more than that of the point before");
    if (i > 0 && point.seconds < device.streamPoints.back().seconds)
      return entry.fail("seconds", "must not be less than that of the point before");
    device.streamPoints.push_back(point);
  }
  return true;
}

bool readDevice(Fields &root, Device &device) {
  if (!root.required("device", "a device in { }"))
    return false;
  Fields fields = root.child("device");
  if (!fields.string("name", device.name, false) || !fields.required("memory", "memory in { }"))
    return false;
  Fields memory = fields.child("memory");
  if (!memory.number("bytes", 1, kMostRate, device.memoryBytes) ||
      !memory.number("usable", kLeastShare, 1, device.memoryUsable, false) ||
      !memory.number("bandwidth", kLeastRate, kMostRate, device.memoryBandwidth) ||
      !memory.number("sustained", kLeastShare, 1, device.memoryEfficiency, false) ||
      !memory.origin())
    return false;
  if (fields.has("launch")) {
    Fields launch = fields.child("launch");
    if (!launch.number("gap_seconds", 0, kMostSeconds, device.gapSeconds, false) ||
        !launch.number("host_seconds", 0, kMostSeconds, device.hostSeconds, false) ||
        !launch.origin())
      return false;
  }
  return readRates(fields, device) && readUnits(fields, device) &&
         readGemmPoints(fields, "gemm_point", 2, device.gemmPoints) &&
         readGemmPoints(fields, "conv_point", 2, device.convPoints) &&
         readGemmPoints(fields, "attention_point", 4, device.attentionPoints) &&
         readStreamPoints(fields, device);
}

bool isLevel(const Cluster &cluster, const std::string &name) {
  return std::any_of(cluster.levels.begin(), cluster.levels.end(),
                     [&](const LinkLevel &level) { return level.name == name; });
}

bool readLinks(Fields &root, Cluster &cluster) {
  if (!root.required("link", "one or more, the nearest first"))
    return false;
  int64_t inner = 1;
  int count = root.count("link");
  for (int i = 0; i < count; ++i) {
    Fields entry = root.child("link", i);
    LinkLevel level;
    if (!entry.string("name", level.name) ||
        !entry.integer("devices", 1, kMostCount, level.devices, i + 1 < count) ||
        !entry.number("bandwidth", kLeastRate, kMostRate, level.bandwidth) ||
        !entry.number("sustained", kLeastShare, 1, level.efficiency, false) ||
        !entry.number("shared_bandwidth", kLeastRate, kMostRate, level.sharedBandwidth, false) ||
        !entry.number("latency", 0, kMostSeconds, level.latency, false) || !entry.origin())
      return false;
    if (i + 1 == count && level.devices != 0)
      return entry.fail("devices", "must not be there: the last links join all devices");
    if (level.devices % inner != 0)
      return entry.fail("devices", "must be a multiple of that of the links before");
    if (isLevel(cluster, level.name))
      return entry.fail("name", "is that of other links: give each its own");
    inner = std::max<int64_t>(level.devices, 1);
    cluster.levels.push_back(std::move(level));
  }
  return true;
}

bool readAxes(Fields &root, Cluster &cluster) {
  for (int i = 0; i < root.count("axis"); ++i) {
    Fields entry = root.child("axis", i);
    std::pair<std::string, std::string> axis;
    if (!entry.string("name", axis.first) || !entry.string("link", axis.second))
      return false;
    if (!isLevel(cluster, axis.second))
      return entry.fail("link", "must be the name of one of the links");
    cluster.axisLevels.push_back(std::move(axis));
  }
  return true;
}

bool readCollectivePoints(Fields &root, Cluster &cluster) {
  static const std::vector<std::string> kKinds = {"all_gather", "all_reduce", "reduce_scatter",
                                                  "all_to_all"};
  for (int i = 0; i < root.count("collective_point"); ++i) {
    Fields entry = root.child("collective_point", i);
    CollectivePoint point;
    size_t kind = 0;
    if (!entry.word("kind", kKinds, kind) || !entry.string("link", point.level) ||
        !entry.integer("members", 2, kMostCount, point.members) ||
        !entry.number("bytes", 1, kMostRate, point.bytes) ||
        !entry.number("seconds", 1e-9, kMostSeconds, point.seconds) || !entry.origin())
      return false;
    if (!isLevel(cluster, point.level))
      return entry.fail("link", "must be the name of one of the links");
    point.kind = runtime::CollectiveKind(kind);
    cluster.collectivePoints.push_back(std::move(point));
  }
  return true;
}

bool readStores(Fields &root, Cluster &cluster) {
  if (root.has("host")) {
    Fields fields = root.child("host");
    Store &host = cluster.host.emplace();
    if (!fields.number("memory_bytes", 1, kMostRate, host.bytes) ||
        !fields.number("bandwidth", kLeastRate, kMostRate, host.readBandwidth) ||
        !fields.integer("devices", 1, kMostCount, host.devices) || !fields.origin())
      return false;
    host.writeBandwidth = host.readBandwidth;
  }
  if (!root.has("nvme"))
    return true;
  Fields fields = root.child("nvme");
  Store &nvme = cluster.nvme.emplace();
  return fields.number("bytes", 1, kMostRate, nvme.bytes) &&
         fields.number("read_bandwidth", kLeastRate, kMostRate, nvme.readBandwidth) &&
         fields.number("write_bandwidth", kLeastRate, kMostRate, nvme.writeBandwidth) &&
         fields.integer("devices", 1, kMostCount, nvme.devices) && fields.origin();
}

} // namespace

std::optional<Cluster> weft::readCluster(const std::string &text, std::string &error) {
  schema::Cluster message;
  Fields::Tree tree;
  if (!cost::parseText(text, message, tree, error))
    return std::nullopt;
  Fields root(message, &tree, "", 1, error);
  Cluster cluster;
  if (!root.string("name", cluster.name, false) || !readDevice(root, cluster.device) ||
      !readLinks(root, cluster) || !readAxes(root, cluster) ||
      !readCollectivePoints(root, cluster) || !readStores(root, cluster))
    return std::nullopt;
  if (root.has("collective_overhead")) {
    Fields overhead = root.child("collective_overhead");
    if (!overhead.number("seconds", 0, kMostSeconds, cluster.collectiveOverhead) ||
        !overhead.origin())
      return std::nullopt;
  }
  if (root.has("uncertainty")) {
    Fields uncertainty = root.child("uncertainty");
    if (!uncertainty.number("share", 0, 10, cluster.uncertainty) || !uncertainty.origin())
      return std::nullopt;
  }
  return cluster;
}
