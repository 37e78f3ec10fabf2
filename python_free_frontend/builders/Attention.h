// Attention of the model builders: masks, rotary positions, grouped heads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_ATTENTION_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_ATTENTION_H

#include "python_free_frontend/builders/GraphBuilder.h"

namespace weft::builders {

/// What a query may see. At most one of `additive` and `keep` is set; both
/// broadcast to [batch, heads, seq, seq].
struct Mask {
  Value additive;      // added to the scores
  Value keep;          // bool, false is hidden
  bool causal = false; // the Attention op masks by itself
  Value triangle;      // GPT-2's bool table [1,1,seq,seq], cut per layer
};

/// The causal mask, with the padding mask `padding` ([batch,seq] of int64, or
/// empty), of a decoder that reads token ids `ids`.
Mask causalMask(GraphBuilder &g, const Value &ids, const Value &padding);
/// The padding mask of an encoder.
Mask paddingMask(GraphBuilder &g, const Value &padding);

/// Rotary tables for the positions of `ids`, made once per model.
struct Rotary {
  Value cos, sin;  // exporter: [1, 1, seq, head]; compact op: half-width tables
  Value positions; // compact op only: [batch, seq]
};
Rotary rotaryTables(GraphBuilder &g, const Value &ids);

/// Multi-head attention of projected q, k and v ([batch, seq, heads * head]);
/// the result has q's shape. `rotary` may be null.
Value attend(GraphBuilder &g, Value q, Value k, Value v, const Mask &mask, const Rotary *rotary);

/// True where attention is the single op of opset 23.
bool usesAttentionOp(const GraphBuilder &g);

/// The positions 0..seq-1 of `ids`, rank 1.
Value positionsOf(GraphBuilder &g, const Value &ids);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_ATTENTION_H
