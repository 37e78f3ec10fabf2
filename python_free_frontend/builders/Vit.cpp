// Vision transformers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Attention.h"
#include "python_free_frontend/builders/Blocks.h"
#include "python_free_frontend/builders/Models.h"

using namespace llvm;

namespace weft::builders {
namespace {

Value dense(GraphBuilder &g, StringRef name, const Value &x, int64_t in, int64_t out, Init init) {
  GraphBuilder::Scope scope(g, name);
  return linear(g, x, in, out, true, init);
}

Value norm(GraphBuilder &g, StringRef name, const Value &x) {
  GraphBuilder::Scope scope(g, name);
  return layerNorm(g, x);
}

/// Pictures to [batch, 1 + patches, hidden], the class token first.
Value embed(GraphBuilder &g, const Value &pixels) {
  const ModelSpec &spec = g.spec();
  int64_t h = spec.hidden, side = spec.image / spec.patch;
  Init init = Init::normal(spec.std);
  GraphBuilder::Scope scope(g, "embeddings");
  Value x;
  {
    GraphBuilder::Scope patches(g, "patch_embeddings");
    GraphBuilder::Scope projection(g, "projection");
    Value weight = g.weight("weight", {h, spec.channels, spec.patch, spec.patch}, init);
    Value bias = g.weight("bias", {h}, Init::zeros());
    Attr::Ints window = {spec.patch, spec.patch};
    x = g.op("Conv", {pixels, weight, bias},
             {Attr("kernel_shape", window), Attr("strides", window),
              Attr("pads", Attr::Ints{0, 0, 0, 0}), Attr("dilations", Attr::Ints{1, 1}),
              Attr("group", 1)});
  }
  if (g.exporter()) {
    // flatten(2): the leading extents are cut from the shape, -1 appended.
    Value lead = g.slice(g.op("Shape", {x}), g.ints({0}), g.ints({2}), 0);
    Value shape = g.op("Concat", {lead, g.ints({-1})}, {Attr("axis", 0)});
    x = g.op("Reshape", {x, shape});
  } else {
    x = g.reshape(x, {0, h, side * side});
  }
  x = g.transpose(x, {0, 2, 1});
  Value token = g.weight("cls_token", {1, 1, h}, init);
  Value target = g.shapeOf({g.dimOf(x, 0), 1, h});
  token = g.op("Expand", {token, target});
  x = g.op("Concat", {token, x}, {Attr("axis", 1)});
  Value positions = g.weight("position_embeddings", {1, side * side + 1, h}, init);
  return g.op("Add", {x, positions});
}

Value attention(GraphBuilder &g, const Value &x) {
  const ModelSpec &spec = g.spec();
  int64_t h = spec.hidden;
  Init init = Init::normal(spec.std);
  GraphBuilder::Scope outer(g, "attention");
  Value mixed;
  {
    GraphBuilder::Scope inner(g, "attention");
    Value q = dense(g, "query", x, h, h, init);
    Value k = dense(g, "key", x, h, h, init);
    Value v = dense(g, "value", x, h, h, init);
    mixed = attend(g, q, k, v, Mask{}, nullptr);
  }
  GraphBuilder::Scope output(g, "output");
  return dense(g, "dense", mixed, h, h, residualInit(spec));
}

Value block(GraphBuilder &g, Value x) {
  const ModelSpec &spec = g.spec();
  Value mixed = attention(g, norm(g, "layernorm_before", x));
  x = g.op("Add", {mixed, x});
  Value inner = norm(g, "layernorm_after", x);
  {
    GraphBuilder::Scope scope(g, "intermediate");
    inner = geluErf(g, dense(g, "dense", inner, spec.hidden, spec.ffn, Init::normal(spec.std)));
  }
  GraphBuilder::Scope output(g, "output");
  Value fed = dense(g, "dense", inner, spec.ffn, spec.hidden, residualInit(spec));
  return g.op("Add", {fed, x});
}

} // namespace

void buildVit(GraphBuilder &g) {
  const ModelSpec &spec = g.spec();
  Value pixels =
      g.input("pixel_values", g.dataType(), {"batch", spec.channels, spec.image, spec.image});
  Value x;
  {
    GraphBuilder::Scope scope(g, "vit");
    x = embed(g, pixels);
    {
      GraphBuilder::Scope encoder(g, "encoder");
      for (int64_t layer = 0; layer < spec.layers; ++layer) {
        GraphBuilder::Scope one(g, "layer." + std::to_string(layer));
        x = block(g, x);
      }
    }
    x = norm(g, "layernorm", x);
  }
  Value first = g.op("Gather", {x, g.scalarInt(0)}, {Attr("axis", 1)});
  GraphBuilder::Scope head(g, "classifier");
  Value logits = gemmLinear(g, first, spec.hidden, spec.classes, Init::normal(spec.std));
  g.output(logits, "logits", g.dataType(), {"batch", spec.classes});
}

} // namespace weft::builders
