// The cheapest sequence of steps from one placement to another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SHARDING_RESHARD_H
#define WEFT_SHARDING_RESHARD_H

#include "weft/Sharding/Collective.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace weft {

struct ReshardStep {
  StepKind kind;
  AxisList axes;
  int dim = -1, otherDim = -1;
  /// Placement after the step.
  Placement result;
  /// Bytes that one device sends.
  double bytes = 0;
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;
  double bytes = 0;
  /// Bytes, and for each collective its latency in bytes.
  double cost = 0;
};

/// The cost of a collective: bytes over the axis's relative bandwidth, and a
/// latency for each; as many times as there are microbatches, if the value is
/// another one in each. So gradients are accumulated first and reduced once.
struct CommunicationCost {
  /// Latency of one collective as the bytes that could be sent meanwhile.
  double latencyBytes = 16384;
  /// Seconds a byte of each mesh axis, relative to the fastest; empty = all 1.
  llvm::SmallVector<double, 4> slowness;

  double of(const Mesh &mesh, StepKind kind, llvm::ArrayRef<AxisId> axes, const Placement &from,
            double bytes) const;
};

/// Finds cheapest plans by Dijkstra's algorithm over placements, where every
/// edge is one step of checkStep, and remembers them. An all_reduce whose result
/// is then sliced is never found, because reduce_scatter is cheaper.
class ReshardPlanner {
public:
  explicit ReshardPlanner(Mesh mesh, CommunicationCost cost = {});
  ~ReshardPlanner();

  const Mesh &mesh() const { return mesh_; }

  /// The plan, or null if there is none: local indices stay where they are, and
  /// nothing is gathered over time. Both placements are canonical and of
  /// one shape. The result lives as long as the planner.
  const ReshardPlan *plan(const Placement &from, const Placement &to, double elementBytes);

  /// Its cost, or infinity.
  double cost(const Placement &from, const Placement &to, double elementBytes);

private:
  std::unique_ptr<ReshardPlan> search(const Placement &from, const Placement &to,
                                      double elementBytes);

  Mesh mesh_;
  CommunicationCost cost_;
  llvm::StringMap<std::unique_ptr<ReshardPlan>> plans_;
};

} // namespace weft

#endif // WEFT_SHARDING_RESHARD_H
