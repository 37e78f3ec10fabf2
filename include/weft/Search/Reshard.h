// The cheapest sequence of transitions from one placement to another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SEARCH_RESHARD_H
#define WEFT_SEARCH_RESHARD_H

#include "weft/Cost/CostModel.h"

#include "llvm/ADT/StringMap.h"

#include <memory>

namespace weft {

struct ReshardTransition {
  TransitionKind kind;
  AxisList axes;
  int dim = -1, otherDim = -1;
  /// Placement after the transition.
  Placement result;
  /// Bytes that one device sends.
  double bytes = 0;
};

struct ReshardPlan {
  llvm::SmallVector<ReshardTransition, 2> transitions;
  double bytes = 0;
  /// Seconds: of a collective as many times as there are microbatches, if the value is another one
  /// in each, so that gradients are accumulated first and reduced once; and a penalty for each
  /// local transition.
  double cost = 0;
};

/// Finds cheapest plans by Dijkstra's algorithm over placements, where every
/// edge is one transition of checkTransition, and remembers them. An all_reduce whose result
/// is then sliced is never found, because reduce_scatter is cheaper.
class ReshardSearch {
public:
  explicit ReshardSearch(CostModel model);
  /// On the standard cluster.
  explicit ReshardSearch(Mesh mesh) : ReshardSearch(CostModel(std::move(mesh))) {}
  ~ReshardSearch();

  const Mesh &mesh() const { return model.mesh(); }
  const CostModel &costModel() const { return model; }

  /// The plan, or null if there is none: local indices stay where they are. Both placements are
  /// canonical and of one shape. The result lives as long as the search.
  const ReshardPlan *plan(const Placement &from, const Placement &to, double elementBytes);

  /// Its seconds, or infinity.
  double cost(const Placement &from, const Placement &to, double elementBytes);

private:
  std::unique_ptr<ReshardPlan> search(const Placement &from, const Placement &to,
                                      double elementBytes);

  CostModel model;
  llvm::StringMap<std::unique_ptr<ReshardPlan>> plans;
};

} // namespace weft

#endif // WEFT_SEARCH_RESHARD_H
