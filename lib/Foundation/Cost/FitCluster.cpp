// Means, quantiles, and two unknowns of links.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/FitCluster.h"

#include "weft/Cost/Rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace weft;
using namespace weft::cost;

namespace {

class Fit {
public:
  explicit Fit(const Measurements &measured) : measured(measured) {}

  Cluster run() {
    device.gemmPoints = pointsOf(Shape::Kind::Gemm);
    device.convPoints = pointsOf(Shape::Kind::Conv);
    device.attentionPoints = pointsOf(Shape::Kind::Attention);
    fitStreams();
    fitRates();
    cluster.uncertainty = std::max(0.1, residual());
    device.gapSeconds = measured.gapSeconds;
    const StreamPoint &large = device.streamPoints.back();
    device.memoryBandwidth = large.bytes / large.seconds;
    fitLinks();
    return std::move(cluster);
  }

private:
  /// Of kernels alike in all but layout the mean.
  std::vector<GemmPoint> pointsOf(Shape::Kind kind) const {
    std::map<std::tuple<Arithmetic, int64_t, int64_t, int64_t, int64_t, int64_t>,
             std::pair<GemmPoint, int64_t>>
        means;
    for (const MeasuredKernel &kernel : measured.kernels) {
      const Shape &shape = kernel.work.shape;
      if (shape.kind != kind)
        continue;
      auto &[point, count] = means[{kernel.work.arithmetic, shape.batch, shape.m, shape.n, shape.k,
                                    kernel.work.flops}];
      point.arithmetic = kernel.work.arithmetic;
      point.batch = shape.batch, point.m = shape.m, point.n = shape.n, point.k = shape.k;
      point.each = double(kernel.work.flops) / double(shape.batch * shape.m * shape.n * shape.k);
      point.seconds += kernel.seconds;
      ++count;
    }
    std::vector<GemmPoint> points;
    for (auto &[key, entry] : means) {
      entry.first.seconds /= double(entry.second);
      points.push_back(entry.first);
    }
    return points;
  }

  static double flopsOf(const GemmPoint &point) {
    return point.each * double(point.batch) * double(point.m) * double(point.n) * double(point.k);
  }

  /// Operations a second of the points of one type.
  static std::vector<double> ratesOf(const std::vector<GemmPoint> &points, Arithmetic type) {
    std::vector<double> rates;
    for (const GemmPoint &point : points)
      if (point.arithmetic == type)
        rates.push_back(flopsOf(point) / point.seconds);
    return rates;
  }

  /// Bytes read and written by sizes, and operations a second of functions.
  void fitStreams() {
    std::map<double, double> byBytes;
    std::vector<double> rates;
    for (const MeasuredKernel &kernel : measured.kernels) {
      if (kernel.work.shape.kind != Shape::Kind::Stream)
        continue;
      double bytes = double(kernel.work.bytesRead + kernel.work.bytesWritten);
      // An addition for three elements in memory is no work beside them.
      if (double(kernel.work.flops) * 12 <= bytes)
        byBytes[bytes] = kernel.seconds;
      else
        rates.push_back(double(kernel.work.flops) / kernel.seconds);
    }
    double most = 0;
    for (auto [bytes, seconds] : byBytes) {
      // More bytes take no less, whatever a clock says.
      most = std::max(most, seconds);
      device.streamPoints.push_back({bytes, most});
    }
    vectorFlops = quantile(rates, 0.5);
  }

  void fitRates() {
    for (Arithmetic type : {Arithmetic::F32, Arithmetic::BF16, Arithmetic::F16, Arithmetic::F64}) {
      ComputeRate &rate = device.rates[size_t(type)];
      rate.flops = quantile(ratesOf(device.gemmPoints, type), 1);
      double most = 0, large = 0;
      for (const GemmPoint &point : device.gemmPoints)
        if (point.arithmetic == type && flopsOf(point) > most) {
          most = flopsOf(point);
          large = most / point.seconds;
        }
      rate.sustained = large / rate.flops;
      // Of types whose attention is not measured as of f32, which comes first.
      std::vector<double> attention = ratesOf(device.attentionPoints, type);
      rate.attentionSustained = attention.empty()
                                    ? device.rates[size_t(Arithmetic::F32)].attentionSustained
                                    : std::min(1.0, quantile(attention, 0.5) / rate.flops);
      rate.vectorFlops = type == Arithmetic::F64 ? vectorFlops / 2 : vectorFlops;
    }
  }

  /// How far products are from what the others say of them.
  double residual() const {
    double sum = 0;
    for (size_t left = 0; left < device.gemmPoints.size(); ++left) {
      Device others = device;
      GemmPoint point = device.gemmPoints[left];
      others.gemmPoints.erase(others.gemmPoints.begin() + ptrdiff_t(left));
      Work work;
      work.shape.kind = Shape::Kind::Gemm;
      work.shape.batch = point.batch, work.shape.m = point.m;
      work.shape.n = point.n, work.shape.k = point.k;
      work.arithmetic = point.arithmetic;
      work.flops = std::llround(flopsOf(point));
      Remarks remarks;
      sum += std::abs(double(timeOf(work, others, remarks)) * 1e-12 / point.seconds - 1);
    }
    return sum / double(device.gemmPoints.size());
  }

  void fitLinks() {
    double n = double(measured.ranks), few = 0, sum = 0, bandwidth = 0, most = 0, least = 0;
    for (const CollectivePoint &point : measured.collectives) {
      if (point.kind == runtime::CollectiveKind::AllGather && (least == 0 || point.bytes < least)) {
        least = point.bytes;
        few = point.seconds;
      }
      if (point.kind == runtime::CollectiveKind::AllReduce && point.bytes > most) {
        most = point.bytes;
        bandwidth = 2 * point.bytes * (n - 1) / n / point.seconds;
      }
    }
    // The least is known only now: points come in any order.
    for (const CollectivePoint &point : measured.collectives)
      if (point.kind == runtime::CollectiveKind::AllReduce && point.bytes == least)
        sum = point.seconds;
    LinkLevel links;
    links.latency = std::max(0.0, (sum - few) / (n - 1));
    links.bandwidth = bandwidth > 0 ? bandwidth : device.memoryBandwidth;
    cluster.levels = {links};
    cluster.collectiveOverhead = std::max(0.0, few - links.latency * (n - 1));
    cluster.collectivePoints = measured.collectives;
  }

  const Measurements &measured;
  Cluster cluster;
  Device &device = cluster.device;
  double vectorFlops = 0;
};

} // namespace

Cluster cost::fitCluster(const Measurements &measured) { return Fit(measured).run(); }

double cost::quantile(std::vector<double> values, double share) {
  auto at = values.begin() + ptrdiff_t(share * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}
