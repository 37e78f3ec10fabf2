// Attention and rotary embedding of the standard (opset 23 and later).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/Shared.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;
using nn::CompareKind;

Value weft::onnx::splitHeads(NodeContext &n, Value x, int64_t heads) {
  if (!x)
    return x;
  if (n.b.rankOf(x) != 3)
    return n.fail("a value to be split into heads must be B x S x (H D)");
  NnBuilder::Shape s = n.b.shapeOf(x);
  if (heads <= 0 || s[2] % heads)
    return n.fail("a hidden size of " + llvm::Twine(s[2]) + " does not divide into " +
                  llvm::Twine(heads) + " heads");
  return n.b.transpose(n.b.reshape(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

Value weft::onnx::joinHeads(NodeContext &n, Value x) {
  if (!x)
    return x;
  NnBuilder::Shape s = n.b.shapeOf(x);
  return n.b.reshape(n.b.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

Value weft::onnx::attend(NodeContext &n, Value q, Value k, Value v, Value bias, double scale,
                         bool causal, double softcap) {
  if (!q || !k || !v || n.b.hasFailed())
    return Value();
  for (Value heads : {q, k, v})
    if (n.b.rankOf(heads) != 4)
      return n.fail("queries, keys and values must be B x H x S x D");
  NnBuilder::Shape qs = n.b.shapeOf(q);
  Value mask;
  if (bias) {
    mask = n.b.broadcastTo(bias, {qs[0], qs[1], qs[2], n.b.shapeOf(k)[2]});
    if (!mask)
      return Value();
  }
  auto type = RankedTensorType::get({qs[0], qs[1], qs[2], n.b.shapeOf(v)[3]}, n.b.elementOf(q));
  auto made =
      n.b.settle(nn::AttentionOp::create(n.b.builder, n.b.loc, type, Type(), q, k, v, mask,
                                         llvm::APFloat(scale), causal, llvm::APFloat(softcap)));
  return made.empty() ? Value() : made.front();
}

Value weft::onnx::biasWhere(NodeContext &n, Value seen, Type element, double hidden) {
  return n.b.select(seen, n.b.full({}, element, 0), n.b.full({}, element, hidden));
}

namespace {

/// One node "Attention" on its way to `nn.attention`: B x H x S x D queries,
/// and keys and values with the past in front.
class AttentionNode {
public:
  explicit AttentionNode(NodeContext &n) : n(n) {}

  Results convert();

private:
  bool readOperands();
  bool readMask();
  void cutUnseenKeys();
  void hideColumns(Value allowed);
  void addBounds();
  Value bound(CompareKind kind, int64_t distance);
  Value scores();

  NodeContext &n;
  Value q, k, v;
  /// All keys and values, as outputs.
  Value presentKey, presentValue;
  /// Added to the scores; null adds nothing. Broadcasts to B x H x S x T.
  Value bias;
  /// B x 1 x 1 x 1: the keys that are there, for a cache with room at its end.
  Value lengths;
  bool flat = false, causal = false, external = false;
  int64_t rows = 0, columns = 0;
  /// The place of the first query among all keys; with `external`, that of an
  /// entry of the batch is its length less the number of queries.
  int64_t offset = 0;
};

} // namespace

bool AttentionNode::readOperands() {
  q = n.in(0), k = n.in(1), v = n.in(2);
  if (!q || !k || !v)
    return false;
  int64_t rank = n.b.rankOf(q);
  flat = rank == 3;
  if ((rank != 3 && rank != 4) || n.b.rankOf(k) != rank || n.b.rankOf(v) != rank) {
    n.fail("Q, K and V must have tensor rank 3 or 4");
    return false;
  }
  int64_t heads = n.integer("q_num_heads", 0), keyHeads = n.integer("kv_num_heads", 0);
  if (flat) {
    q = splitHeads(n, q, heads);
    k = splitHeads(n, k, keyHeads);
    v = splitHeads(n, v, keyHeads);
  }
  if (n.has(4) != n.has(5)) {
    n.fail("past_key and past_value must be given together");
    return false;
  }
  if (n.has(4) && k && v) {
    offset = n.b.shapeOf(n.in(4)).size() == 4 ? n.b.shapeOf(n.in(4))[2] : 0;
    k = n.b.concat({n.in(4), k}, 2);
    v = n.b.concat({n.in(5), v}, 2);
  }
  if (!q || !k || !v)
    return false;
  presentKey = k;
  presentValue = v;
  rows = n.b.shapeOf(q)[2];
  columns = n.b.shapeOf(k)[2];
  causal = n.integer("is_causal", 0) != 0;
  external = n.has(6);
  if (!external)
    return true;
  if (n.has(4)) {
    n.fail("nonpad_kv_seqlen cannot be combined with past_key");
    return false;
  }
  int64_t batch = n.b.shapeOf(q)[0];
  lengths = n.b.reshape(n.b.cast(n.in(6), n.b.i64()), {batch, 1, 1, 1});
  return bool(lengths);
}

/// A bool mask says what is seen. What a short one leaves out is not, since opset
/// 24; before, masks only broadcast.
bool AttentionNode::readMask() {
  if (!n.has(3))
    return true;
  Type element = n.b.elementOf(q);
  Value mask = n.in(3);
  if (n.b.isBool(mask))
    mask = biasWhere(n, mask, element, -HUGE_VAL);
  mask = n.b.cast(mask, element);
  if (!mask || n.b.rankOf(mask) == 0 || n.b.rankOf(mask) > 4) {
    n.fail("attn_mask must have tensor rank 1 to 4");
    return false;
  }
  int64_t rank = n.b.rankOf(mask), own = n.b.shapeOf(mask).back();
  if (own < columns && n.opset < 24) {
    SmallVector<int64_t> wide(n.b.shapeOf(mask));
    wide.back() = columns;
    mask = n.b.broadcastTo(mask, wide);
  } else if (own < columns) {
    SmallVector<int64_t> low(rank, 0), high(rank, 0);
    high.back() = columns - own;
    mask = n.b.pad(mask, low, high, -HUGE_VAL);
  }
  bias = mask;
  return bool(bias);
}

/// No causal row sees a key behind the last row's own, so that without those
/// the triangle ends at the last key, which `nn.attention` knows as `causal`.
void AttentionNode::cutUnseenKeys() {
  if (!causal || external || columns <= offset + rows)
    return;
  columns = offset + rows;
  k = n.b.sliceDim(k, 2, 0, columns);
  v = n.b.sliceDim(v, 2, 0, columns);
  if (bias)
    bias = n.b.sliceDim(bias, n.b.rankOf(bias) - 1, 0, columns);
}

/// Keys where `allowed` does not hold are not seen.
void AttentionNode::hideColumns(Value allowed) {
  Value hidden = biasWhere(n, allowed, n.b.elementOf(q), -HUGE_VAL);
  bias = bias ? n.b.add(bias, hidden) : hidden;
}

/// Where key j compares so with the place of query i, `distance` further on.
Value AttentionNode::bound(CompareKind kind, int64_t distance) {
  SmallVector<int64_t> matrix = {rows, columns};
  Value row = n.b.iotaAlong(matrix, 0), column = n.b.iotaAlong(matrix, 1);
  Value place =
      external ? n.b.add(n.b.add(row, lengths), double(-rows)) : n.b.add(row, double(offset));
  return n.b.compare(kind, column, n.b.add(place, double(distance)));
}

void AttentionNode::addBounds() {
  // The op's own triangle: j <= i + columns - rows.
  bool isTriangle = causal && !external && columns - rows == offset;
  if (causal && !isTriangle) {
    hideColumns(bound(CompareKind::Le, 0));
    causal = false;
  }
  int64_t left = n.integer("left_window_size", -1), right = n.integer("right_window_size", -1);
  if (left >= 0)
    hideColumns(bound(CompareKind::Ge, -left));
  if (right >= 0)
    hideColumns(bound(CompareKind::Le, right));
  if (external)
    hideColumns(n.b.compare(CompareKind::Lt, n.b.iotaAlong({rows, columns}, 1), lengths));
}

/// What the node's `qk_matmul_output_mode` asks of the scores, which no other
/// result needs: for the output of that name alone, all keys with it.
Value AttentionNode::scores() {
  int64_t mode = n.integer("qk_matmul_output_mode", 0);
  NnBuilder::Shape qs = n.b.shapeOf(q), ks = n.b.shapeOf(k);
  if (mode < 0 || mode > 3)
    return n.fail("'qk_matmul_output_mode' must be 0, 1, 2 or 3");
  SmallVector<int64_t> shape = {qs[0], qs[1], rows, columns};
  Value grouped = n.b.reshape(q, {qs[0], ks[1], qs[1] / ks[1], rows, qs[3]});
  // Labels are batch, key head, query head of it, query, depth and key.
  Value result =
      n.b.reshape(n.b.contract(grouped, k, {0, 1, 2, 3, 4}, {0, 1, 5, 4}, {0, 1, 2, 3, 5}), shape);
  result = n.b.mul(result, n.real("scale", 1 / std::sqrt(double(qs[3]))));
  double softcap = n.real("softcap", 0);
  if (mode > 0 && softcap > 0)
    result = n.b.mul(n.b.unary<nn::TanhOp>(n.b.mul(result, 1 / softcap)), softcap);
  if (mode < 2)
    return result;
  if (causal)
    hideColumns(bound(CompareKind::Le, 0));
  if (bias)
    result = n.b.add(result, bias);
  if (mode == 2)
    return result;
  Value weights = n.b.softmax(result, 3);
  if (!bias || !weights)
    return weights;
  // A row that sees nothing has no weights.
  Value most = n.b.reduce(ReduceKind::Max, bias, {n.b.rankOf(bias) - 1}, true);
  return n.b.select(n.b.compare(CompareKind::Eq, most, -HUGE_VAL), n.b.fullLike(weights, 0),
                    weights);
}

Results AttentionNode::convert() {
  if (!readOperands() || !readMask())
    return {};
  // It says in which type the softmax is at least computed: f32 here.
  int64_t precision = n.integer("softmax_precision", 1);
  if (precision == 11 && !n.b.elementOf(q).isF64())
    return {n.fail("'softmax_precision' of double is not supported for inputs "
                   "of less; cast the inputs")};
  bool wantsScores = n.wants(3);
  if (!wantsScores)
    cutUnseenKeys();
  addBounds();
  double scale = n.real("scale", 1 / std::sqrt(double(n.b.shapeOf(q)[3])));
  Value y = attend(n, q, k, v, bias, scale, causal, n.real("softcap", 0));
  if (!y)
    return {};
  return {flat ? joinHeads(n, y) : y, presentKey, presentValue, wantsScores ? scores() : Value()};
}

static Results attention(NodeContext &n) { return AttentionNode(n).convert(); }

Value weft::onnx::rowsAt(NodeContext &n, Value table, Value positions) {
  if (!table || !positions)
    return Value();
  if (n.b.rankOf(table) == 0)
    return n.fail("a table of positions has no dims");
  return n.b.checkPlaces(positions, n.b.shapeOf(table)[0]) ? n.b.take(table, positions, 0)
                                                           : Value();
}

Value weft::onnx::rotate(NodeContext &n, Value x, Value cosine, Value sine, int64_t depth,
                         bool interleaved) {
  if (!x || !cosine || !sine)
    return Value();
  NnBuilder::Shape s = n.b.shapeOf(x);
  depth = depth == 0 ? s[3] : depth;
  if (depth <= 0 || depth % 2 || depth > s[3])
    return n.fail("the rotated depth " + llvm::Twine(depth) + " must be even and at most " +
                  llvm::Twine(s[3]));
  auto table = [&](Value values) -> Value {
    if (!values || n.b.rankOf(values) != 3 || n.b.shapeOf(values)[2] < depth / 2)
      return n.fail("the caches must give B x S x depth/2");
    values = n.b.sliceDim(values, 2, 0, depth / 2);
    return n.b.broadcastTo(n.b.unsqueeze(values, {1}), {s[0], s[1], s[2], depth / 2});
  };
  Value rotated =
      n.b.make<nn::RopeOp>(n.b.sliceDim(x, 3, 0, depth), table(cosine), table(sine), interleaved);
  if (depth == s[3])
    return rotated;
  return n.b.concat({rotated, n.b.sliceDim(x, 3, depth, s[3] - depth)}, 3);
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
    cosine = rowsAt(n, cosine, n.in(3));
    sine = rowsAt(n, sine, n.in(3));
  }
  Value rotated = rotate(n, x, cosine, sine, n.integer("rotary_embedding_dim", 0),
                         n.integer("interleaved", 0) != 0);
  return {flat ? joinHeads(n, rotated) : rotated};
}

void weft::onnx::registerAttention(Registry &r) {
  r.addSince("Attention", 23, attention);
  r.addSince("RotaryEmbedding", 23, rotaryEmbedding);
}
