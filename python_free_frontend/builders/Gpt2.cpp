// GPT-2 with its fused QKV layer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Attention.h"
#include "python_free_frontend/builders/Blocks.h"
#include "python_free_frontend/builders/Models.h"

using namespace llvm;

namespace weft::builders {
namespace {

/// GPT-2's "Conv1D": a Gemm over flattened rows with the weight as [in, out].
Value conv1d(GraphBuilder &g, StringRef name, const Value &x, int64_t in, int64_t out, Init init) {
  GraphBuilder::Scope scope(g, name);
  Value weight = g.weight("weight", {in, out}, init);
  Value bias = g.weight("bias", {out}, Init::zeros());
  if (!g.exporter())
    return g.op("Add", {g.op("MatMul", {x, weight}), bias});
  Value batch = g.dimOf(x, 0), seq = g.dimOf(x, 1);
  Value rows = g.reshape(x, {-1, in});
  Value product = g.op("Gemm", {rows, weight, bias}, {Attr("alpha", 1.0), Attr("beta", 1.0)});
  return g.reshape(product, {batch, seq, out});
}

Value attention(GraphBuilder &g, const Value &x, const Mask &mask) {
  const ModelSpec &spec = g.spec();
  int64_t width = spec.hidden;
  GraphBuilder::Scope scope(g, "attn");
  Value fused = conv1d(g, "c_attn", x, width, 3 * width, Init::normal(spec.std));
  std::vector<Value> qkv =
      g.ops("Split", {fused, g.ints({width, width, width})}, 3, {Attr("axis", 2)});
  Value mixed = attend(g, qkv[0], qkv[1], qkv[2], mask, nullptr);
  return conv1d(g, "c_proj", mixed, width, width, residualInit(spec));
}

Value feedForward(GraphBuilder &g, const Value &x) {
  const ModelSpec &spec = g.spec();
  GraphBuilder::Scope scope(g, "mlp");
  Value inner = conv1d(g, "c_fc", x, spec.hidden, spec.ffn, Init::normal(spec.std));
  {
    GraphBuilder::Scope act(g, "act");
    inner = geluTanh(g, inner);
  }
  return conv1d(g, "c_proj", inner, spec.ffn, spec.hidden, residualInit(spec));
}

Value norm(GraphBuilder &g, StringRef name, const Value &x) {
  GraphBuilder::Scope scope(g, name);
  return layerNorm(g, x);
}

} // namespace

void buildGpt2(GraphBuilder &g) {
  const ModelSpec &spec = g.spec();
  Value ids = g.input("input_ids", onnx::Tensor::INT64, {"batch", "seq"});
  Value padding;
  if (spec.maskInput)
    padding = g.input("attention_mask", onnx::Tensor::INT64, {"batch", "seq"});

  Mask mask = causalMask(g, ids, padding);
  Value logits;
  Value table;
  {
    GraphBuilder::Scope scope(g, "transformer");
    Value x;
    Value positions = g.unsqueeze(positionsOf(g, ids), {0});
    {
      GraphBuilder::Scope wte(g, "wte");
      table = g.weight("weight", {spec.vocab, spec.hidden}, Init::normal(spec.std));
      x = g.op("Gather", {table, ids});
    }
    {
      GraphBuilder::Scope wpe(g, "wpe");
      Value rows = g.weight("weight", {spec.seq, spec.hidden}, Init::normal(spec.std / 2));
      x = g.op("Add", {x, g.op("Gather", {rows, positions})});
    }
    for (int64_t layer = 0; layer < spec.layers; ++layer) {
      GraphBuilder::Scope block(g, "h." + std::to_string(layer));
      x = g.op("Add", {attention(g, norm(g, "ln_1", x), mask), x});
      x = g.op("Add", {x, feedForward(g, norm(g, "ln_2", x))});
    }
    x = norm(g, "ln_f", x);
    logits = std::move(x);
  }
  GraphBuilder::Scope head(g, "lm_head");
  logits = g.op("MatMul", {logits, g.transpose(table, {1, 0})});
  g.output(logits, "logits", g.dataType(), {"batch", "seq", spec.vocab});
}

} // namespace weft::builders
