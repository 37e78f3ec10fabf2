// Attention and rotary embedding of the standard (opset 23 and later).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// B x S x (H D) to B x H x S x D.
static Value splitHeads(NodeContext &n, Value x, int64_t heads) {
  if (!x)
    return x;
  NnBuilder::Shape s = n.b.shapeOf(x);
  if (heads <= 0 || s[2] % heads)
    return n.fail("a hidden size of " + llvm::Twine(s[2]) +
                  " does not divide into " + llvm::Twine(heads) + " heads");
  return n.b.transpose(n.b.reshape(x, {s[0], s[1], heads, s[2] / heads}),
                       {0, 2, 1, 3});
}

static Value joinHeads(NodeContext &n, Value x) {
  if (!x)
    return x;
  NnBuilder::Shape s = n.b.shapeOf(x);
  return n.b.reshape(n.b.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

static Results attention(NodeContext &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  if (!q || !k || !v)
    return {};
  int64_t rank = n.b.rankOf(q);
  if ((rank != 3 && rank != 4) || n.b.rankOf(k) != rank ||
      n.b.rankOf(v) != rank)
    return {n.fail("Q, K and V must have tensor rank 3 or 4")};
  if (rank == 3) {
    q = splitHeads(n, q, n.integer("q_num_heads", 0));
    k = splitHeads(n, k, n.integer("kv_num_heads", 0));
    v = splitHeads(n, v, n.integer("kv_num_heads", 0));
    if (!q || !k || !v)
      return {};
  }
  if (n.has(6))
    return {n.fail("input 'nonpad_kv_seqlen' is not supported; give the same "
                   "limits as a mask")};
  if (n.integer("left_window_size", -1) >= 0 ||
      n.integer("right_window_size", -1) >= 0)
    return {
        n.fail("window sizes are not supported; give the window as a mask")};
  if (n.wants(3))
    return {n.fail("output 'qk_matmul_output' is not supported")};
  if (n.has(4)) {
    k = n.b.concat({n.in(4), k}, 2);
    v = n.b.concat({n.in(5), v}, 2);
    if (!k || !v)
      return {};
  }
  NnBuilder::Shape qs = n.b.shapeOf(q), ks = n.b.shapeOf(k),
                   vs = n.b.shapeOf(v);
  Value mask = n.has(3) ? n.in(3) : Value();
  if (mask) {
    Type element = n.b.elementOf(q);
    if (n.b.isBool(mask)) {
      SmallVector<int64_t> shape(n.b.shapeOf(mask));
      mask = n.b.select(mask, n.b.full(shape, element, 0),
                        n.b.full(shape, element, -HUGE_VAL));
    }
    mask =
        n.b.broadcastTo(n.b.cast(mask, element), {qs[0], qs[1], qs[2], ks[2]});
    if (!mask)
      return {};
  }
  double scale = n.real("scale", 1 / std::sqrt(double(qs[3])));
  auto type =
      RankedTensorType::get({qs[0], qs[1], qs[2], vs[3]}, n.b.elementOf(q));
  auto made = n.b.settle(nn::AttentionOp::create(
      n.b.builder, n.b.loc, type, q, k, v, mask, llvm::APFloat(scale),
      n.integer("is_causal", 0) != 0, llvm::APFloat(n.real("softcap", 0))));
  if (made.empty())
    return {};
  return {rank == 3 ? joinHeads(n, made[0]) : made[0], k, v};
}

static Results rotaryEmbedding(NodeContext &n) {
  Value x = n.in(0), cosine = n.in(1), sine = n.in(2);
  if (!x || !cosine || !sine)
    return {};
  bool flat = n.b.rankOf(x) == 3;
  if (flat)
    x = splitHeads(n, x, n.integer("num_heads", 0));
  if (!x || n.b.rankOf(x) != 4)
    return {n.fail("needs B x H x S x D, or B x S x (H D) with 'num_heads'")};
  if (n.has(3)) {
    cosine = n.b.take(cosine, n.in(3), 0);
    sine = n.b.take(sine, n.in(3), 0);
  }
  NnBuilder::Shape s = n.b.shapeOf(x);
  int64_t depth = n.integer("rotary_embedding_dim", 0);
  depth = depth == 0 ? s[3] : depth;
  if (depth <= 0 || depth % 2 || depth > s[3])
    return {n.fail("the rotated depth " + llvm::Twine(depth) +
                   " must be even and at most " + llvm::Twine(s[3]))};
  auto table = [&](Value values) -> Value {
    if (!values || n.b.rankOf(values) != 3 ||
        n.b.shapeOf(values)[2] < depth / 2)
      return n.fail("the caches must give B x S x depth/2");
    values = n.b.sliceDim(values, 2, 0, depth / 2);
    return n.b.broadcastTo(n.b.unsqueeze(values, {1}),
                           {s[0], s[1], s[2], depth / 2});
  };
  cosine = table(cosine);
  sine = table(sine);
  Value rotated = n.b.make<nn::RopeOp>(n.b.sliceDim(x, 3, 0, depth), cosine,
                                       sine, n.integer("interleaved", 0) != 0);
  if (depth < s[3])
    rotated = n.b.concat({rotated, n.b.sliceDim(x, 3, depth, s[3] - depth)}, 3);
  return {flat ? joinHeads(n, rotated) : rotated};
}

void weft::onnx::registerAttention(Registry &r) {
  r.addSince("Attention", 23, attention);
  r.addSince("RotaryEmbedding", 23, rotaryEmbedding);
}
