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

static std::array<int64_t, 4> sizesOf(const GemmPoint &point) {
  return {point.batch, point.m, point.n, point.k};
}

/// What measured products take, relative to the formula: that of the same shape, else a mean of
/// all, weighted by how near they are in the logarithms of their sizes.
static double measuredShare(const Shape &shape, Arithmetic arithmetic, double rate,
                            const Device &device, Remarks &remarks) {
  std::array<int64_t, 4> asked = {shape.batch, shape.m, shape.n, shape.k};
  std::array<int64_t, 4> least, most;
  least.fill(std::numeric_limits<int64_t>::max());
  most.fill(0);
  double sum = 0, weights = 0;
  for (const GemmPoint &point : device.gemmPoints) {
    if (point.arithmetic != arithmetic)
      continue;
    std::array<int64_t, 4> sizes = sizesOf(point);
    Shape measured;
    measured.batch = point.batch, measured.m = point.m, measured.n = point.n, measured.k = point.k;
    double flops = 2.0 * double(point.batch) * double(point.m) * double(point.n) * double(point.k);
    double share = point.seconds / productSeconds(measured, flops, rate, device);
    if (sizes == asked)
      return share;
    double distance = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      least[i] = std::min(least[i], sizes[i]);
      most[i] = std::max(most[i], sizes[i]);
      double apart = std::log2(double(asked[i]) / double(sizes[i]));
      distance += apart * apart;
    }
    sum += share / distance;
    weights += 1 / distance;
  }
  if (weights == 0)
    return 1;
  for (size_t i = 0; i < asked.size(); ++i)
    if (asked[i] < least[i] || asked[i] > most[i]) {
      remarks.insert("products of " + std::string(nameOf(arithmetic)) + " such as " +
                     std::to_string(shape.batch) + " x [" + std::to_string(shape.m) + ", " +
                     std::to_string(shape.k) + "] x [" + std::to_string(shape.k) + ", " +
                     std::to_string(shape.n) + "] are outside what was measured");
      break;
    }
  return sum / weights;
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
    computing = flops / (rate.flops * rate.attentionSustained);
    break;
  case Shape::Kind::Gemm:
  case Shape::Kind::Conv: {
    double sustained = rate.flops * rate.sustained;
    computing = productSeconds(work.shape, flops, sustained, device) *
                measuredShare(work.shape, work.arithmetic, sustained, device, remarks);
    break;
  }
  }
  double moving = double(work.bytesRead + work.bytesWritten) /
                  (device.memoryBandwidth * device.memoryEfficiency);
  return picosecondsOf(std::max(computing, moving) + double(work.launches) * device.gapSeconds);
}
