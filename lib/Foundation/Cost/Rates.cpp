// Kernels: rooflines, tiles, and what was measured.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Rates.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace weft;
using namespace weft::cost;

int64_t cost::picosecondsOf(double seconds) { return std::llround(seconds * 1e12); }

static int64_t ceilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// Seconds of a product by the formula.
static double productSeconds(const Shape &shape, double flops, double rate, const Device &device) {
  if (device.units == 0)
    return flops / rate;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile &tile : device.tiles) {
    int64_t tiles = shape.batch * ceilDiv(shape.m, tile.m) * ceilDiv(shape.n, tile.n);
    double filled = double(ceilDiv(tiles, device.units) * device.units) * double(tile.m * tile.n);
    best = std::min(best, filled * 2 * double(shape.k) / (rate * tile.share));
  }
  return best;
}

/// What the points are of, and the way in which the formula is asked for them.
struct Measured {
  const std::vector<GemmPoint> &points;
  const char *what;
  bool isTiled;
};

static Measured measuredOf(Shape::Kind kind, const Device &device) {
  switch (kind) {
  case Shape::Kind::Conv:
    // Without any, those of the products that they are.
    if (!device.convPoints.empty())
      return {device.convPoints, "convolutions", true};
    break;
  case Shape::Kind::Attention:
    return {device.attentionPoints, "attention", false};
  default:
    break;
  }
  return {device.gemmPoints, "products", true};
}

/// What a measured kernel takes, relative to the formula.
static double shareOf(const GemmPoint &point, bool isTiled, double rate, const Device &device) {
  Shape shape;
  shape.batch = point.batch, shape.m = point.m, shape.n = point.n, shape.k = point.k;
  double flops =
      point.each * double(point.batch) * double(point.m) * double(point.n) * double(point.k);
  return point.seconds / (isTiled ? productSeconds(shape, flops, rate, device) : flops / rate);
}

/// What measured kernels take, relative to the formula: that of the same shape, else a mean of
/// all, weighted by how near they are in the logarithms of their sizes.
static double measuredShare(const Shape &shape, double flops, Arithmetic arithmetic, double rate,
                            const Device &device, Remarks &remarks) {
  auto logs = [](double batch, double m, double n, double k, double each) {
    return std::array<double, 5>{std::log2(batch), std::log2(m), std::log2(n), std::log2(k),
                                 std::log2(each)};
  };
  double points = double(shape.batch) * double(shape.m) * double(shape.n) * double(shape.k);
  std::array<double, 5> asked =
      logs(double(shape.batch), double(shape.m), double(shape.n), double(shape.k), flops / points);
  std::array<double, 5> least, most;
  least.fill(std::numeric_limits<double>::infinity());
  most.fill(-std::numeric_limits<double>::infinity());
  Measured measured = measuredOf(shape.kind, device);
  double sum = 0, weights = 0;
  for (const GemmPoint &point : measured.points) {
    if (point.arithmetic != arithmetic)
      continue;
    double share = shareOf(point, measured.isTiled, rate, device);
    std::array<double, 5> sizes =
        logs(double(point.batch), double(point.m), double(point.n), double(point.k), point.each);
    double distance = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      least[i] = std::min(least[i], sizes[i]);
      most[i] = std::max(most[i], sizes[i]);
      distance += (asked[i] - sizes[i]) * (asked[i] - sizes[i]);
    }
    // Of masks and softmax a little more or less is counted than `each` says in three digits.
    constexpr double kSame = 1e-4;
    if (distance < kSame)
      return share;
    // Near points decide: a mean of all would forget what is different at the ends.
    double weight = 1 / (distance * distance);
    sum += share * weight;
    weights += weight;
  }
  if (weights == 0)
    return 1;
  // How many there are of each kind of work is no size.
  for (size_t i = 0; i < 4; ++i)
    if (asked[i] < least[i] || asked[i] > most[i]) {
      remarks.insert(std::string(measured.what) + " of " + nameOf(arithmetic) + " such as " +
                     std::to_string(shape.batch) + " x [" + std::to_string(shape.m) + ", " +
                     std::to_string(shape.k) + "] x [" + std::to_string(shape.k) + ", " +
                     std::to_string(shape.n) + "] are outside what was measured");
      break;
    }
  return sum / weights;
}

/// Seconds of reading and writing so many bytes: between two measured points on the line that joins
/// them, beyond the last in proportion.
static double secondsOfBytes(double bytes, const Device &device) {
  const std::vector<StreamPoint> &points = device.streamPoints;
  if (points.empty())
    return bytes / (device.memoryBandwidth * device.memoryEfficiency);
  auto above = std::find_if(points.begin(), points.end(),
                            [&](const StreamPoint &point) { return point.bytes >= bytes; });
  if (above == points.end())
    return points.back().seconds * bytes / points.back().bytes;
  if (above == points.begin())
    return above->seconds * bytes / above->bytes;
  const StreamPoint &below = *std::prev(above);
  double share = (bytes - below.bytes) / (above->bytes - below.bytes);
  return below.seconds + share * (above->seconds - below.seconds);
}

int64_t cost::timeOf(const Work &work, const Device &device, Remarks &remarks) {
  if (work.launches == 0)
    return 0;
  const ComputeRate &rate = device.rates[size_t(work.arithmetic)];
  double flops = double(work.flops), computing = 0;
  switch (work.shape.kind) {
  case Shape::Kind::Stream:
    computing = flops / rate.vectorFlops;
    break;
  case Shape::Kind::Attention:
    computing = flops / (rate.flops * rate.attentionSustained) *
                measuredShare(work.shape, flops, work.arithmetic,
                              rate.flops * rate.attentionSustained, device, remarks);
    break;
  case Shape::Kind::Gemm:
  case Shape::Kind::Conv: {
    double sustained = rate.flops * rate.sustained;
    computing = productSeconds(work.shape, flops, sustained, device) *
                measuredShare(work.shape, flops, work.arithmetic, sustained, device, remarks);
    break;
  }
  }
  double moving = secondsOfBytes(double(work.bytesRead + work.bytesWritten), device);
  return picosecondsOf(std::max(computing, moving) + double(work.launches) * device.gapSeconds);
}

/// Of the points of each type of numbers the one that is fastest for its size.
static std::vector<GemmPoint> fastestPoints(const std::vector<GemmPoint> &points, bool isTiled,
                                            double ComputeRate::*sustained, const Device &device) {
  std::map<Arithmetic, std::pair<double, GemmPoint>> least;
  for (const GemmPoint &point : points) {
    const ComputeRate &rate = device.rates[size_t(point.arithmetic)];
    double share = shareOf(point, isTiled, rate.flops * rate.*sustained, device);
    auto [found, isNew] = least.try_emplace(point.arithmetic, share, point);
    if (!isNew && share < found->second.first)
      found->second = {share, point};
  }
  std::vector<GemmPoint> result;
  for (const auto &[arithmetic, best] : least)
    result.push_back(best.second);
  return result;
}

Device cost::fastestOf(Device device) {
  device.gemmPoints = fastestPoints(device.gemmPoints, true, &ComputeRate::sustained, device);
  device.convPoints = fastestPoints(device.convPoints, true, &ComputeRate::sustained, device);
  device.attentionPoints =
      fastestPoints(device.attentionPoints, false, &ComputeRate::attentionSustained, device);
  std::vector<StreamPoint> &streams = device.streamPoints;
  if (!streams.empty())
    streams = {*std::min_element(streams.begin(), streams.end(),
                                 [](const StreamPoint &a, const StreamPoint &b) {
                                   return a.seconds * b.bytes < b.seconds * a.bytes;
                                 })};
  return device;
}
