// The models that can be built.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELS_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELS_H

#include "python_free_frontend/builders/GraphBuilder.h"

namespace weft::builders {

/// Token ids to logits; fused QKV, tanh GELU, learned positions, tied output.
void buildGpt2(GraphBuilder &g);
/// Token ids to logits; RMS norm, rotary positions, grouped heads, SwiGLU. With
/// experts, every feed-forward layer is `expertLayer`.
void buildLlama(GraphBuilder &g);
/// Token ids, padding mask and token types to hidden states and, when asked,
/// a sentence embedding or vocabulary logits.
void buildBert(GraphBuilder &g);
/// Pictures to class logits.
void buildVit(GraphBuilder &g);
/// Pictures to class logits, by residual convolutions and batch norms.
void buildResnet(GraphBuilder &g);
/// Feature vectors to class logits.
void buildMlp(GraphBuilder &g);

/// A capacity-style mixture of experts over x [batch, seq, hidden].
Value expertLayer(GraphBuilder &g, const Value &x);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELS_H
