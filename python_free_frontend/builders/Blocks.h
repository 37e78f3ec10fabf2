// The layers that transformer models share, in exporter or compact spelling.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_BLOCKS_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_BLOCKS_H

#include "python_free_frontend/builders/GraphBuilder.h"

namespace weft::builders {

/// LayerNormalization over the last axis; decomposed below opset 17.
/// Parameters are "weight" and "bias" of the current scope.
Value layerNorm(GraphBuilder &g, const Value &x);

/// RMS norm with parameter "weight": decomposed as exporters write it, one
/// RMSNormalization in compact style from opset 23 on.
Value rmsNorm(GraphBuilder &g, const Value &x);

/// x * W + b on the last axis of a tensor of rank 3. `init` is of the matrix.
Value linear(GraphBuilder &g, const Value &x, int64_t in, int64_t out, bool bias, Init init);

/// x * W^T + b on a matrix, one Gemm.
Value gemmLinear(GraphBuilder &g, const Value &x, int64_t in, int64_t out, Init init);

/// GELU with the error function.
Value geluErf(GraphBuilder &g, const Value &x);
/// GELU by tanh, as GPT-2 computes it.
Value geluTanh(GraphBuilder &g, const Value &x);
/// x * sigmoid(x).
Value silu(GraphBuilder &g, const Value &x);

/// down(silu(gate(x)) * up(x)).
Value swiGlu(GraphBuilder &g, const Value &x);

/// Standard deviation of the projections that write into the residual stream:
/// divided by sqrt(2 * layers), so that its variance does not grow with depth.
Init residualInit(const ModelSpec &spec);

/// Exporters compute norms, rotary tables and softmax of 16-bit models in
/// fp32; fp64 models stay in fp64.
int32_t wideType(const GraphBuilder &g);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_BLOCKS_H
