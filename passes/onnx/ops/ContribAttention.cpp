// Attention in ONNX Runtime's domain, and its rotary embedding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/Shared.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;
using nn::CompareKind;

static constexpr llvm::StringLiteral kDomain = "com.microsoft";

/// What the attributes ask for beyond what is computed here; false after a
/// failure.
static bool refuse(NodeContext &n, llvm::ArrayRef<llvm::StringRef> attributes) {
  for (llvm::StringRef name : attributes)
    if (n.integer(name, 0) != 0) {
      n.fail("'" + name + "' = " + llvm::Twine(n.integer(name, 0)) + " is not supported");
      return false;
    }
  return true;
}

static bool refuseInputs(NodeContext &n, llvm::ArrayRef<unsigned> inputs) {
  for (unsigned input : inputs)
    if (n.has(input)) {
      n.fail("input " + llvm::Twine(input) + " is not supported");
      return false;
    }
  return true;
}

namespace {

/// Heads, apart, on their way to `nn.attention`.
struct Heads {
  NodeContext &n;
  Value q, k, v, bias;

  int64_t rows() const { return n.b.shapeOf(q)[2]; }
  int64_t columns() const { return n.b.shapeOf(k)[2]; }
  int64_t batch() const { return n.b.shapeOf(q)[0]; }

  void add(Value more) {
    if (more)
      bias = bias ? n.b.add(bias, more) : more;
  }
  void addMask(unsigned input);
  void addWindow(int64_t window);
  void addTriangle(int64_t past);
  bool isSound() const { return q && k && v && !n.b.hasFailed(); }

  Value attend(bool causal) {
    if (!isSound())
      return Value();
    double scale = n.real("scale", 0);
    if (scale == 0)
      scale = 1 / std::sqrt(double(n.b.shapeOf(q)[3]));
    return joinHeads(n, weft::onnx::attend(n, q, k, v, bias, scale, causal, n.real("softcap", 0)));
  }
};

} // namespace

/// A mask of 1 where keys count, B x T or B x S x T, or the keys' numbers (B),
/// or their ends and then their starts (2 B). The rest gets
/// `mask_filter_value`.
void Heads::addMask(unsigned input) {
  if (!n.has(input) || !isSound())
    return;
  Value mask = n.b.cast(n.in(input), n.b.i64());
  NnBuilder::Shape shape = n.b.shapeOf(mask);
  int64_t b = batch(), t = columns();
  Value seen;
  if (shape == NnBuilder::Shape({b}) || shape == NnBuilder::Shape({2 * b})) {
    Value place = n.b.iotaAlong({b, 1, 1, t}, 3);
    auto edge = [&](int64_t from) {
      return n.b.reshape(n.b.sliceDim(mask, 0, from, b), {b, 1, 1, 1});
    };
    seen = n.b.compare(CompareKind::Lt, place, edge(0));
    if (shape[0] == 2 * b)
      seen = n.b.binary<nn::AndOp>(seen, n.b.compare(CompareKind::Ge, place, edge(b)));
  } else if (shape == NnBuilder::Shape({b, t})) {
    seen = n.b.compare(CompareKind::Ne, n.b.reshape(mask, {b, 1, 1, t}), 0.0);
  } else if (shape == NnBuilder::Shape({b, rows(), t})) {
    seen = n.b.compare(CompareKind::Ne, n.b.reshape(mask, {b, 1, rows(), t}), 0.0);
  } else {
    n.fail("a mask of this shape is not supported; it may be batch, 2 x batch, "
           "batch x keys or batch x queries x keys");
    return;
  }
  add(biasWhere(n, seen, n.b.elementOf(q), n.real("mask_filter_value", -10000.0)));
}

/// Of the keys up to the query's own, the last `window` are seen.
void Heads::addWindow(int64_t window) {
  if (!isSound())
    return;
  SmallVector<int64_t> matrix = {rows(), columns()};
  Value first = n.b.add(n.b.iotaAlong(matrix, 0), double(columns() - rows() + 1 - window));
  add(biasWhere(n, n.b.compare(CompareKind::Ge, n.b.iotaAlong(matrix, 1), first), n.b.elementOf(q),
                -HUGE_VAL));
}

/// Of the keys that come behind `past` others, a query sees as many as come before it or at it.
void Heads::addTriangle(int64_t past) {
  SmallVector<int64_t> matrix = {rows(), columns()};
  Value own = n.b.add(n.b.iotaAlong(matrix, 0), double(past));
  add(biasWhere(n, n.b.compare(CompareKind::Le, n.b.iotaAlong(matrix, 1), own), n.b.elementOf(q),
                -HUGE_VAL));
}

/// input x weights + bias holds query, key and value.
static Results attention(NodeContext &n) {
  Value x = n.in(0), weights = n.in(1);
  int64_t heads = n.integer("num_heads", 0);
  if (!x || !weights || n.b.rankOf(x) != 3 || n.b.rankOf(weights) != 2)
    return {n.fail("needs an input B x S x I and weights I x (Q + K + V)")};
  if (!refuse(n, {"do_rotary", "past_present_share_buffer"}) || !refuseInputs(n, {6}))
    return {};
  Value all = n.b.matmul(x, weights);
  if (n.has(2))
    all = n.b.add(all, n.in(2));
  int64_t width = n.b.shapeOf(weights)[1];
  SmallVector<int64_t> sizes = {width / 3, width / 3, width / 3};
  if (auto given = n.integers("qkv_hidden_sizes"))
    sizes = *given;
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != width || heads <= 0 ||
      sizes[0] != sizes[1])
    return {n.fail("the weights do not divide into queries, keys and values of "
                   "equal hidden sizes of queries and keys")};
  auto part = [&](int64_t start, int64_t size) {
    return splitHeads(n, n.b.sliceDim(all, 2, start, size), heads);
  };
  Heads h{n, part(0, sizes[0]), part(sizes[0], sizes[1]), part(sizes[0] + sizes[1], sizes[2]),
          Value()};
  if (n.has(4)) {
    Value past = n.in(4);
    if (n.b.rankOf(past) != 5)
      return {n.fail("'past' must be 2 x B x H x P x D")};
    SmallVector<int64_t> shape(n.b.shapeOf(past).drop_front());
    auto old = [&](int64_t which) { return n.b.reshape(n.b.sliceDim(past, 0, which, 1), shape); };
    h.k = n.b.concat({old(0), h.k}, 2);
    h.v = n.b.concat({old(1), h.v}, 2);
  }
  h.addMask(3);
  if (n.has(5))
    h.add(n.in(5));
  Value y = h.attend(n.integer("unidirectional", 0) != 0);
  if (!y || !n.wants(1))
    return {y};
  return {y, n.b.concat({n.b.unsqueeze(h.k, {0}), n.b.unsqueeze(h.v, {0})}, 0)};
}

static Results multiHeadAttention(NodeContext &n) {
  Value query = n.in(0), bias = n.has(3) ? n.in(3) : Value();
  int64_t heads = n.integer("num_heads", 0);
  if (!query || !refuseInputs(n, {8, 9}))
    return {};
  if (n.wants(3))
    return {n.fail("output 'qk' is not supported")};
  // The bias holds that of queries, of keys and of values.
  int64_t biasUsed = 0;
  auto heads3 = [&](Value x) -> Value {
    if (!x || n.b.rankOf(x) != 3)
      return n.fail("query, key and value must be B x S x (H D)");
    if (bias) {
      int64_t size = n.b.shapeOf(x)[2];
      if (n.b.rankOf(bias) != 1 || biasUsed + size > n.b.shapeOf(bias)[0])
        return n.fail("the bias is shorter than query, key and value");
      x = n.b.add(x, n.b.sliceDim(bias, 0, biasUsed, size));
      biasUsed += size;
    }
    return splitHeads(n, x, heads);
  };
  Heads h{n, Value(), Value(), Value(), Value()};
  if (!n.has(1) || !n.has(2))
    return {n.fail("operands packed into one are not supported; give query, key "
                   "and value")};
  h.q = heads3(query);
  bool apart = n.b.rankOf(n.in(1)) == 4;
  h.k = apart ? n.in(1) : heads3(n.in(1));
  h.v = apart ? n.in(2) : heads3(n.in(2));
  if (n.has(6) != n.has(7))
    return {n.fail("past_key and past_value must be given together")};
  int64_t own = h.isSound() ? h.columns() : 0;
  if (n.has(6)) {
    h.k = n.b.concat({n.in(6), h.k}, 2);
    h.v = n.b.concat({n.in(7), h.v}, 2);
  }
  h.addMask(4);
  if (n.has(5))
    h.add(n.in(5));
  bool causal = n.integer("unidirectional", 0) != 0;
  if (causal && h.isSound() && own > h.rows() && h.rows() > 1)
    return {n.fail("'unidirectional' with more keys than queries, " + llvm::Twine(own) + " and " +
                   llvm::Twine(h.rows()) +
                   ", of which the last sees all in ONNX Runtime; give the "
                   "mask as attention_bias")};
  // The triangle of `nn.attention` ends at the last key; this one starts at the first that is new.
  if (causal && h.isSound() && own < h.rows()) {
    h.addTriangle(h.columns() - own);
    causal = false;
  }
  return {h.attend(causal), h.k, h.v};
}

/// Tables are P x depth/2; positions are B x S, or one number at which they
/// start.
static Value rotateBy(NodeContext &n, Value x, Value cosine, Value sine, Value positions,
                      int64_t depth, bool interleaved) {
  if (!x || !cosine || !sine || !positions)
    return Value();
  NnBuilder::Shape s = n.b.shapeOf(x);
  positions = n.b.cast(positions, n.b.i64());
  if (n.b.sizeOf(n.b.shapeOf(positions)) == 1)
    positions = n.b.add(n.b.iotaAlong({s[0], s[2]}, 1), n.b.reshape(positions, {1, 1}));
  if (n.b.rankOf(cosine) != 2 || n.b.rankOf(sine) != 2)
    return n.fail("the caches must be positions x depth/2");
  // The depth is what the tables have where nothing else says it.
  if (depth == 0)
    depth = 2 * n.b.shapeOf(cosine)[1];
  return rotate(n, x, rowsAt(n, cosine, positions), rowsAt(n, sine, positions), depth, interleaved);
}

static Results rotaryEmbedding(NodeContext &n) {
  Value x = n.in(0), positions = n.in(1), cosine = n.in(2), sine = n.in(3);
  if (!x || !positions || !cosine || !sine || !refuse(n, {"is_packed_batching"}))
    return {};
  if (n.real("scale", 1) != 1)
    return {n.fail("'scale' is not supported")};
  bool flat = n.b.rankOf(x) == 3;
  int64_t depth = n.integer("rotary_embedding_dim", 0), heads = n.integer("num_heads", 0);
  if (flat && depth == 0 && n.b.rankOf(cosine) == 2)
    heads = n.b.shapeOf(x)[2] / std::max<int64_t>(1, 2 * n.b.shapeOf(cosine)[1]);
  if (flat)
    x = splitHeads(n, x, heads);
  if (!x || n.b.rankOf(x) != 4)
    return {n.fail("needs B x H x S x D, or B x S x (H D)")};
  Value y = rotateBy(n, x, cosine, sine, positions, depth, n.integer("interleaved", 0) != 0);
  return {flat ? joinHeads(n, y) : y};
}

/// Of prompts: without keys of the past, all of one length. An executable has
/// one shape, and a cache that grows in place is state.
static Results groupQueryAttention(NodeContext &n) {
  Value query = n.in(0);
  int64_t heads = n.integer("num_heads", 0), keyHeads = n.integer("kv_num_heads", 0);
  if (!query || n.b.rankOf(query) != 3 || heads <= 0 || keyHeads <= 0)
    return {n.fail("needs a query B x S x (H D), 'num_heads' and "
                   "'kv_num_heads'")};
  if (!refuse(n, {"smooth_softmax", "sliding_window_cache", "qk_output"}) ||
      !refuseInputs(n, {11, 12, 13, 14, 15, 16}))
    return {};
  for (unsigned past : {3u, 4u})
    if (n.has(past) && n.b.sizeOf(n.b.shapeOf(n.in(past))) != 0)
      return {n.fail("keys of the past are supported by the standard operator "
                     "Attention alone; export the model with that")};
  int64_t rows = n.b.shapeOf(query)[1], width = n.b.shapeOf(query)[2];
  auto total = n.knownScalar(6, double(rows));
  auto lengths = n.has(5) ? n.knownIntegers(5) : std::optional(SmallVector<int64_t>());
  if (!total || !lengths)
    return {};
  if (*total != rows || llvm::any_of(*lengths, [&](int64_t last) { return last != rows - 1; }))
    return {n.fail("'seqlens_k' and 'total_sequence_length' must say " + llvm::Twine(rows) +
                   " keys, one a query")};
  if (n.has(1) != n.has(2) || (!n.has(1) && width % (heads + 2 * keyHeads) != 0))
    return {n.fail("needs key and value, or a query that divides into "
                   "'num_heads' + 2 'kv_num_heads' heads")};
  Heads h{n, Value(), Value(), Value(), Value()};
  if (n.has(1)) {
    h.q = splitHeads(n, query, heads);
    h.k = splitHeads(n, n.in(1), keyHeads);
    h.v = splitHeads(n, n.in(2), keyHeads);
  } else {
    int64_t depth = width / (heads + 2 * keyHeads);
    auto part = [&](int64_t first, int64_t count) {
      return splitHeads(n, n.b.sliceDim(query, 2, first * depth, count * depth), count);
    };
    h.q = part(0, heads);
    h.k = part(heads, keyHeads);
    h.v = part(heads + keyHeads, keyHeads);
  }
  if (n.integer("do_rotary", 0)) {
    bool interleaved = n.integer("rotary_interleaved", 0) != 0;
    Value positions = n.has(9) ? n.in(9) : n.b.full({}, n.b.i64(), 0);
    for (Value *x : {&h.q, &h.k})
      *x = rotateBy(n, *x, n.in(7), n.in(8), positions, 0, interleaved);
  }
  bool causal = n.integer("causal", 1) != 0;
  int64_t window = n.integer("local_window_size", -1);
  if (window > 0)
    h.addWindow(window);
  if (n.has(10))
    h.add(n.in(10));
  return {h.attend(causal), h.k, h.v};
}

void weft::onnx::registerContribAttention(Registry &r) {
  r.add("Attention", 1, 1, attention, kDomain);
  r.add("MultiHeadAttention", 1, 1, multiHeadAttention, kDomain);
  r.add("GroupQueryAttention", 1, 1, groupQueryAttention, kDomain);
  r.add("RotaryEmbedding", 1, 1, rotaryEmbedding, kDomain);
}
