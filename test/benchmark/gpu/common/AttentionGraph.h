// Flash attention, forward and backward, as cuDNN's composite graph; and where
// its elements lie in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Cudnn.h"

namespace weft::gpukit {

/// Queries, keys and values are bf16 and lie packed as a linear layer writes
/// them: [batch, time, Hq + 2 Hkv, D]. The output and its gradient are [batch,
/// time, Hq, D], row statistics fp32 [batch, Hq, time].
struct AttentionShape {
  int64_t batch, queryHeads, keyHeads, time, depth;
  bool causal;

  int64_t packedHeads() const { return queryHeads + 2 * keyHeads; }
  uint64_t packedElements() const { return uint64_t(batch * time * packedHeads() * depth); }
  uint64_t outputElements() const { return uint64_t(batch * time * queryHeads * depth); }
  uint64_t rowElements() const { return uint64_t(batch * queryHeads * time); }
  /// Index of element 0 of a row in the packed buffer; `head` counts queries,
  /// then keys, then values.
  uint64_t packedRow(int64_t b, int64_t t, int64_t head) const {
    return uint64_t(((b * time + t) * packedHeads() + head) * depth);
  }
  uint64_t outputRow(int64_t b, int64_t t, int64_t head) const {
    return uint64_t(((b * time + t) * queryHeads + head) * depth);
  }
  uint64_t statsAt(int64_t b, int64_t head, int64_t t) const {
    return uint64_t((b * queryHeads + head) * time + t);
  }
  int64_t keyHeadOf(int64_t queryHead) const { return queryHead / (queryHeads / keyHeads); }
  double scale() const;
  /// Two products of 2 D flops per pair of positions; the causal half alone is
  /// counted. Backward has five.
  double forwardFlops() const;
  double backwardFlops() const { return 2.5 * forwardFlops(); }
};

/// Names of the tensors to bind; 0 where a graph has none.
struct AttentionUids {
  int64_t q = 0, k = 0, v = 0, o = 0, stats = 0, dO = 0, dQ = 0, dK = 0, dV = 0;
  int64_t rowSum = 0, dQAccum = 0; ///< fp32 scratch that the caller provides,
                                   ///< of rowElements and outputElements
  int64_t scale = 0, masked = 0, one = 0;
};

struct AttentionGraph {
  GraphBuilder builder; ///< owns what the graph is made of
  std::unique_ptr<Descriptor> graph;
  AttentionUids uids;
  size_t operations = 0;
};

AttentionGraph forwardGraph(const Cudnn &cudnn, const AttentionShape &shape);
AttentionGraph backwardGraph(const Cudnn &cudnn, const AttentionShape &shape);

/// The value of masked scores: cuDNN before 9.10 wants the lowest float rather
/// than minus infinity.
float maskedScore(size_t cudnnVersion);

} // namespace weft::gpukit
