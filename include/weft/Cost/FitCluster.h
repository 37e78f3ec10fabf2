// The figures of a machine, from what kernels and collectives took on it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_FITCLUSTER_H
#define WEFT_COST_FITCLUSTER_H

#include "weft/Cost/Cluster.h"

namespace weft::cost {

struct MeasuredKernel {
  Work work;
  double seconds = 0;
};

/// Of one machine, all of whose ranks were busy.
struct Measurements {
  int64_t ranks = 1;
  /// Products of f32, bf16, f16 and f64, attention at least of f32, and what passes over memory:
  /// with hardly an operation, and with many.
  std::vector<MeasuredKernel> kernels;
  /// Over all ranks; none where there is but one.
  std::vector<CollectivePoint> collectives;
  /// From the end of a kernel to the start of the next one.
  double gapSeconds = 0;
};

/// A cluster of one kind of links, without names and the size of memory. The best product is a
/// type's rate, the largest one tells what is sustained. Links have the latency and bandwidth
/// (Hockney) of the least and the most bytes, where a ring of n members gathers in n-1 messages and
/// sums in twice as many; of one rank they are memory. The uncertainty is how far products are from
/// what the others say of them, at least a tenth.
Cluster fitCluster(const Measurements &measured);

/// The value below which this share of the values is.
double quantile(std::vector<double> values, double share);

} // namespace weft::cost

#endif // WEFT_COST_FITCLUSTER_H
