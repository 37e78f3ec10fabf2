// BERT encoders, with sentence embeddings or vocabulary logits on demand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Attention.h"
#include "python_free_frontend/builders/Blocks.h"
#include "python_free_frontend/builders/Models.h"

using namespace llvm;

namespace weft::builders {
namespace {

Value dense(GraphBuilder &g, StringRef name, const Value &x, int64_t in, int64_t out) {
  GraphBuilder::Scope scope(g, name);
  return linear(g, x, in, out, true, Init::normal(g.spec().std));
}

Value norm(GraphBuilder &g, const Value &x) {
  GraphBuilder::Scope scope(g, "LayerNorm");
  return layerNorm(g, x);
}

Value lookUp(GraphBuilder &g, StringRef name, int64_t rows, const Value &ids) {
  GraphBuilder::Scope scope(g, name);
  Value table = g.weight("weight", {rows, g.spec().hidden}, Init::normal(g.spec().std));
  return g.op("Gather", {table, ids});
}

Value embed(GraphBuilder &g, const Value &ids, const Value &types) {
  const ModelSpec &spec = g.spec();
  GraphBuilder::Scope scope(g, "embeddings");
  Value positions;
  if (g.exporter()) {
    // The module keeps 0..seq-1 as a table and cuts it to the input.
    onnx::Tensor table;
    table.add_dims(1);
    table.add_dims(spec.seq);
    table.set_data_type(onnx::Tensor::INT64);
    std::vector<int64_t> values(spec.seq);
    for (int64_t i = 0; i < spec.seq; ++i)
      values[i] = i;
    table.set_raw_data(values.data(), values.size() * sizeof(int64_t));
    Value all = g.buffer("position_ids", std::move(table));
    positions = g.slice(all, g.ints({0}), g.unsqueeze(g.dimOf(ids, 1), {0}), 1);
  } else {
    positions = g.unsqueeze(positionsOf(g, ids), {0});
  }
  Value words = lookUp(g, "word_embeddings", spec.vocab, ids);
  Value kinds = lookUp(g, "token_type_embeddings", spec.types, types);
  Value x = g.op("Add", {words, kinds});
  x = g.op("Add", {x, lookUp(g, "position_embeddings", spec.seq, positions)});
  return norm(g, x);
}

Value block(GraphBuilder &g, const Value &x, const Mask &mask) {
  const ModelSpec &spec = g.spec();
  int64_t h = spec.hidden;
  Value attended;
  {
    GraphBuilder::Scope outer(g, "attention");
    Value mixed;
    {
      GraphBuilder::Scope self(g, "self");
      Value q = dense(g, "query", x, h, h);
      Value k = dense(g, "key", x, h, h);
      Value v = dense(g, "value", x, h, h);
      mixed = attend(g, q, k, v, mask, nullptr);
    }
    GraphBuilder::Scope output(g, "output");
    Value projected = dense(g, "dense", mixed, h, h);
    attended = norm(g, g.op("Add", {projected, x}));
  }
  Value inner;
  {
    GraphBuilder::Scope scope(g, "intermediate");
    inner = geluErf(g, dense(g, "dense", attended, h, spec.ffn));
  }
  GraphBuilder::Scope output(g, "output");
  Value fed = dense(g, "dense", inner, spec.ffn, h);
  return norm(g, g.op("Add", {fed, attended}));
}

/// Broadcasts `x` to the shape of `like`, as expand_as is exported.
Value expandAs(GraphBuilder &g, const Value &x, const Value &like) {
  return g.op("Expand", {x, g.op("Shape", {like})});
}

Value pool(GraphBuilder &g, const Value &x, const Value &padding) {
  const ModelSpec &spec = g.spec();
  Value pooled;
  if (spec.pooling == "cls") {
    pooled = g.op("Gather", {x, g.scalarInt(0)}, {Attr("axis", 1)});
  } else {
    Value mask = g.unsqueeze(padding, {2});
    if (g.exporter())
      mask = expandAs(g, mask, x);
    mask = g.cast(mask, g.dataType());
    Value sum = g.reduce("ReduceSum", g.op("Mul", {x, mask}), 1, false);
    Value count = g.reduce("ReduceSum", mask, 1, false);
    // A 16-bit float cannot hold 1e-9; its own smallest normal serves.
    double least = spec.dtype == DType::F16 ? 6.103515625e-05 : 1e-9;
    pooled = g.op("Div", {sum, g.op("Clip", {count, g.real(least)})});
  }
  if (!spec.normalize)
    return pooled;
  Value length = g.reduce("ReduceL2", pooled, 1, true);
  double least = spec.dtype == DType::F16 ? 6.103515625e-05 : 1e-12;
  length = g.op("Clip", {length, g.real(least)});
  if (g.exporter())
    length = expandAs(g, length, pooled);
  return g.op("Div", {pooled, length});
}

Value maskedHead(GraphBuilder &g, const Value &x, const Value &table) {
  const ModelSpec &spec = g.spec();
  GraphBuilder::Scope scope(g, "cls.predictions");
  Value y;
  {
    GraphBuilder::Scope transform(g, "transform");
    y = geluErf(g, dense(g, "dense", x, spec.hidden, spec.hidden));
    y = norm(g, y);
  }
  Value bias = g.weight("bias", {spec.vocab}, Init::zeros());
  return g.op("Add", {g.op("MatMul", {y, g.transpose(table, {1, 0})}), bias});
}

} // namespace

void buildBert(GraphBuilder &g) {
  const ModelSpec &spec = g.spec();
  auto ints = [&](StringRef name) { return g.input(name, onnx::Tensor::INT64, {"batch", "seq"}); };
  Value ids = ints("input_ids");
  Value padding = ints("attention_mask");
  Value types = ints("token_type_ids");

  Mask mask = paddingMask(g, padding);
  Value x = embed(g, ids, types);
  {
    GraphBuilder::Scope encoder(g, "encoder");
    for (int64_t layer = 0; layer < spec.layers; ++layer) {
      GraphBuilder::Scope scope(g, "layer." + std::to_string(layer));
      x = block(g, x, mask);
    }
  }
  Value pooled, first, logits;
  if (spec.head == "mlm")
    logits = maskedHead(g, x, "embeddings.word_embeddings.weight");
  if (spec.pooling != "none") {
    GraphBuilder::Scope scope(g, "pooling");
    pooled = pool(g, x, padding);
  }
  if (spec.pooler) {
    GraphBuilder::Scope scope(g, "pooler");
    first = g.op("Gather", {x, g.scalarInt(0)}, {Attr("axis", 1)});
    GraphBuilder::Scope inner(g, "dense");
    first = g.op("Tanh", {gemmLinear(g, first, spec.hidden, spec.hidden, Init::normal(spec.std))});
  }
  g.output(x, "last_hidden_state", g.dataType(), {"batch", "seq", spec.hidden});
  if (!first.empty())
    g.output(first, "pooler_output", g.dataType(), {"batch", spec.hidden});
  if (!pooled.empty())
    g.output(pooled, "sentence_embedding", g.dataType(), {"batch", spec.hidden});
  if (!logits.empty())
    g.output(logits, "logits", g.dataType(), {"batch", "seq", spec.vocab});
}

} // namespace weft::builders
