// Median and spread of repeated measurements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::gpukit {

/// Fewer samples than this is no result.
inline constexpr size_t minSamples = 20;

struct Stats {
  size_t samples = 0;
  double median = 0, p25 = 0, p75 = 0, min = 0, max = 0;
};

/// The q-quantile of sorted values, linear between neighbours.
inline double quantile(const std::vector<double> &sorted, double q) {
  if (sorted.empty())
    return 0;
  double place = q * double(sorted.size() - 1);
  size_t low = size_t(place);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - double(low)) * (sorted[high] - sorted[low]);
}

inline Stats statsOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Stats stats;
  stats.samples = values.size();
  if (values.empty())
    return stats;
  stats.median = quantile(values, 0.5);
  stats.p25 = quantile(values, 0.25);
  stats.p75 = quantile(values, 0.75);
  stats.min = values.front();
  stats.max = values.back();
  return stats;
}

} // namespace weft::gpukit
