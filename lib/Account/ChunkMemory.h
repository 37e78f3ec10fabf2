// What values of one chunk hold: from pass to pass, within a pass, in the updates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_ACCOUNT_CHUNKMEMORY_H
#define WEFT_LIB_ACCOUNT_CHUNKMEMORY_H

#include "Nodes.h"

namespace weft::account {

/// Which nodes are of one microbatch of one chunk, and what they share with others.
struct ChunkView {
  const Nodes &nodes;
  int64_t chunk = 0;
  /// The microbatch that is looked at; nothing: there is one, and all but the updates is of it.
  std::optional<int64_t> microbatch;
  bool splitsWeights = false;

  int64_t stage() const { return nodes.stageOf(chunk); }
  bool isFirstOfStage() const { return nodes.isFirstOfStage(chunk, {}); }
  /// Whether its stage runs the node with this chunk.
  bool runs(const Node &node) const { return nodes.isFirstOfStage(chunk, node.chunks); }

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

/// Fills the chunk's bytes of what is kept and of what is alive beside it, and of gradients. Nodes
/// run in their order.
void fillMemory(const ChunkView &view, cost::Chunk &chunk);

} // namespace weft::account

#endif // WEFT_LIB_ACCOUNT_CHUNKMEMORY_H
