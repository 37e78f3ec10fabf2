// What values of one stage hold: from pass to pass, within a pass, in the updates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_ACCOUNT_STAGEMEMORY_H
#define WEFT_LIB_ACCOUNT_STAGEMEMORY_H

#include "Nodes.h"

namespace weft::account {

/// Which nodes are of one microbatch of one stage, and what they share with others.
struct StageView {
  const Nodes &nodes;
  int64_t stage = 0;
  /// The microbatch that is looked at; nothing: there is one, and all but the updates is of it.
  std::optional<int64_t> microbatch;
  bool splitsWeights = false;

  bool isOfMicrobatch(const Node &node) const {
    return microbatch ? node.microbatch == microbatch : node.part != Part::Optimizer;
  }
  /// Once a step.
  bool isOfUpdate(const Node &node) const {
    return microbatch ? !node.microbatch : node.part == Part::Optimizer;
  }
  /// F, B or W.
  pipeline::Kind kindOf(const Node &node) const {
    if (node.part == Part::Forward)
      return pipeline::Kind::Forward;
    return splitsWeights && node.part == Part::WeightGradient ? pipeline::Kind::Weight
                                                              : pipeline::Kind::Backward;
  }
};

/// Fills the chunk's bytes of what is kept and of what is alive beside it, and of gradients.
void fillMemory(const StageView &view, cost::Chunk &chunk);

} // namespace weft::account

#endif // WEFT_LIB_ACCOUNT_STAGEMEMORY_H
