// Llama-style decoders, dense or with experts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Attention.h"
#include "python_free_frontend/builders/Blocks.h"
#include "python_free_frontend/builders/Models.h"

using namespace llvm;

namespace weft::builders {
namespace {

Value project(GraphBuilder &g, StringRef name, const Value &x, int64_t in, int64_t out, bool bias,
              Init init) {
  GraphBuilder::Scope scope(g, name);
  return linear(g, x, in, out, bias, init);
}

Value norm(GraphBuilder &g, StringRef name, const Value &x) {
  GraphBuilder::Scope scope(g, name);
  return rmsNorm(g, x);
}

Value attention(GraphBuilder &g, const Value &x, const Mask &mask, const Rotary &rotary) {
  const ModelSpec &spec = g.spec();
  GraphBuilder::Scope scope(g, "self_attn");
  Init init = Init::normal(spec.std);
  int64_t narrow = spec.kvHeads * spec.headDim();
  Value q = project(g, "q_proj", x, spec.hidden, spec.hidden, spec.bias, init);
  Value k = project(g, "k_proj", x, spec.hidden, narrow, spec.bias, init);
  Value v = project(g, "v_proj", x, spec.hidden, narrow, spec.bias, init);
  Value mixed = attend(g, q, k, v, mask, &rotary);
  return project(g, "o_proj", mixed, spec.hidden, spec.hidden, false, residualInit(spec));
}

Value feedForward(GraphBuilder &g, const Value &x) {
  if (g.spec().kind == Kind::Moe) {
    GraphBuilder::Scope scope(g, "block_sparse_moe");
    return expertLayer(g, x);
  }
  GraphBuilder::Scope scope(g, "mlp");
  return swiGlu(g, x);
}

} // namespace

void buildLlama(GraphBuilder &g) {
  const ModelSpec &spec = g.spec();
  Value ids = g.input("input_ids", onnx::Tensor::INT64, {"batch", "seq"});
  Value padding;
  if (spec.maskInput)
    padding = g.input("attention_mask", onnx::Tensor::INT64, {"batch", "seq"});

  Value x, table;
  {
    GraphBuilder::Scope scope(g, "model");
    {
      GraphBuilder::Scope embed(g, "embed_tokens");
      table = g.weight("weight", {spec.vocab, spec.hidden}, Init::normal(spec.std));
      x = g.op("Gather", {table, ids});
    }
    Mask mask = causalMask(g, ids, padding);
    Rotary rotary = rotaryTables(g, ids);
    for (int64_t layer = 0; layer < spec.layers; ++layer) {
      GraphBuilder::Scope block(g, "layers." + std::to_string(layer));
      Value mixed = attention(g, norm(g, "input_layernorm", x), mask, rotary);
      x = g.op("Add", {x, mixed});
      Value fed = feedForward(g, norm(g, "post_attention_layernorm", x));
      x = g.op("Add", {x, fed});
    }
    x = norm(g, "norm", x);
  }
  GraphBuilder::Scope head(g, "lm_head");
  Value logits = spec.tied ? g.op("MatMul", {x, g.transpose(table, {1, 0})})
                           : linear(g, x, spec.hidden, spec.vocab, false, Init::normal(spec.std));
  g.output(logits, "logits", g.dataType(), {"batch", "seq", spec.vocab});
}

} // namespace weft::builders
