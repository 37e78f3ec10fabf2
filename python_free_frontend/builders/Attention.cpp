// Attention in the spelling of exporters, and as the standard's single ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Attention.h"

#include "python_free_frontend/builders/Blocks.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace llvm;

namespace weft::builders {
namespace {

// Above this many positions a stored causal table (one byte per pair) is
// larger than exporters keep; the mask is then compared from positions.
constexpr int64_t kLargestTable = 4096;

double lowest(DType type) {
  switch (type) {
  case DType::F64:
    return std::numeric_limits<double>::lowest();
  case DType::F16:
    return -65504;
  case DType::BF16:
    return -3.3895313892515355e38;
  case DType::F32:
    return std::numeric_limits<float>::lowest();
  }
  llvm_unreachable("all element types are listed");
}

/// [batch, seq, heads * head] -> [batch, heads, seq, head].
Value splitHeads(GraphBuilder &g, const Value &x, int64_t heads) {
  int64_t head = g.spec().headDim();
  Value split = g.exporter() ? g.reshape(x, {g.dimOf(x, 0), g.dimOf(x, 1), heads, head})
                             : g.reshape(x, {0, 0, heads, head});
  return g.transpose(split, {0, 2, 1, 3});
}

Value mergeHeads(GraphBuilder &g, const Value &x) {
  Value rows = g.transpose(x, {0, 2, 1, 3});
  if (!g.exporter())
    return g.reshape(rows, {0, 0, g.spec().hidden});
  return g.reshape(rows, {g.dimOf(rows, 0), g.dimOf(rows, 1), g.spec().hidden});
}

/// The second half of the last dimension, negated, before the first half.
Value rotateHalf(GraphBuilder &g, const Value &x) {
  if (!g.exporter()) {
    int64_t head = g.spec().headDim();
    Value first = g.slice(x, g.ints({0}), g.ints({head / 2}), 3);
    Value second = g.slice(x, g.ints({head / 2}), g.ints({head}), 3);
    return g.op("Concat", {g.op("Neg", {second}), first}, {Attr("axis", -1)});
  }
  auto middle = [&] {
    Value half = g.op("Div", {g.dimOf(x, 3), g.scalarInt(2)});
    // Floor division is traced with two casts that change nothing.
    half = g.cast(g.cast(half, onnx::Tensor::INT64), onnx::Tensor::INT64);
    return g.unsqueeze(half, {0});
  };
  Value first = g.slice(x, g.ints({0}), middle(), 3);
  Value second = g.slice(x, middle(), g.ints({INT64_MAX}), 3);
  return g.op("Concat", {g.op("Neg", {second}), first}, {Attr("axis", -1)});
}

Value rotate(GraphBuilder &g, const Value &x, const Rotary &rotary) {
  Value straight = g.op("Mul", {x, rotary.cos});
  Value turned = g.op("Mul", {rotateHalf(g, x), rotary.sin});
  return g.op("Add", {straight, turned});
}

/// Repeats each key/value head for its group of query heads.
Value repeatHeads(GraphBuilder &g, const Value &x) {
  const ModelSpec &spec = g.spec();
  int64_t repeat = spec.heads / spec.kvHeads, head = spec.headDim();
  if (repeat == 1)
    return x;
  if (!g.exporter()) {
    Value grouped = g.unsqueeze(x, {2});
    Value wide = g.op("Expand", {grouped, g.ints({1, 1, repeat, 1, 1})});
    return g.reshape(wide, {0, spec.heads, -1, head});
  }
  Value batch = g.dimOf(x, 0), seq = g.dimOf(x, 2);
  Value grouped = g.unsqueeze(x, {2});
  Value target = g.shapeOf({batch, spec.kvHeads, repeat, seq, head});
  // expand() treats -1 as "keep"; exporters guard it for every extent.
  Value ones = g.op("ConstantOfShape", {g.op("Shape", {target})}, {Attr("value", [&] {
                      onnx::Tensor one;
                      one.add_dims(1);
                      one.set_data_type(onnx::Tensor::INT64);
                      int64_t value = 1;
                      one.set_raw_data(&value, sizeof(value));
                      return one;
                    }())});
  Value minus = g.op("Mul", {ones, g.scalarInt(-1)});
  Value keeps = g.op("Equal", {target, minus});
  Value wide = g.op("Expand", {grouped, g.op("Where", {keeps, ones, target})});
  return g.reshape(wide, {batch, spec.heads, seq, head});
}

Value softmaxOf(GraphBuilder &g, Value scores) {
  bool widen = g.exporter() && g.dataType() != wideType(g);
  if (widen)
    scores = g.cast(scores, wideType(g));
  Value weights = g.op("Softmax", {scores}, {Attr("axis", -1)});
  return widen ? g.cast(weights, g.dataType()) : weights;
}

Value withMask(GraphBuilder &g, Value scores, const Value &q, const Value &k, const Mask &mask) {
  if (!mask.triangle.empty()) {
    // table[:, :, keys - queries : keys, :keys]
    Value keys = g.dimOf(k, 2), queries = g.dimOf(q, 2);
    Value start = g.unsqueeze(g.op("Sub", {keys, queries}), {0});
    Value end = g.unsqueeze(keys, {0});
    Value rows = g.slice(mask.triangle, start, end, 2);
    Value part = g.slice(rows, g.ints({0}), g.unsqueeze(keys, {0}), 3);
    scores = g.op("Where", {part, scores, g.real(lowest(g.spec().dtype))});
  }
  if (!mask.additive.empty())
    scores = g.op("Add", {scores, mask.additive});
  return scores;
}

/// [batch, seq] to the bool [batch, 1, seq, seq] of the Attention op. The
/// standard would broadcast the third dimension; ONNX Runtime does not.
Value keepMask(GraphBuilder &g, const Value &padding) {
  Value keep = g.unsqueeze(g.cast(padding, onnx::Tensor::BOOL), {1, 2});
  return g.op("Expand", {keep, g.shapeOf({1, 1, g.dimOf(padding, 1), 1})});
}

Value attentionOp(GraphBuilder &g, Value q, Value k, const Value &v, const Mask &mask,
                  const Rotary *rotary) {
  const ModelSpec &spec = g.spec();
  if (rotary) {
    auto turn = [&](const Value &x, int64_t heads) {
      return g.op("RotaryEmbedding", {x, rotary->cos, rotary->sin, rotary->positions},
                  {Attr("num_heads", heads)});
    };
    q = turn(q, spec.heads);
    k = turn(k, spec.kvHeads);
  }
  std::vector<Value> inputs = {q, k, v};
  if (!mask.keep.empty())
    inputs.push_back(mask.keep);
  return g.op("Attention", inputs,
              {Attr("is_causal", int(mask.causal)), Attr("kv_num_heads", spec.kvHeads),
               Attr("q_num_heads", spec.heads)});
}

} // namespace

bool usesAttentionOp(const GraphBuilder &g) { return !g.exporter() && g.opset() >= 23; }

Value positionsOf(GraphBuilder &g, const Value &ids) {
  Value seq = g.dimOf(ids, 1);
  return g.op("Range", {g.scalarInt(0), seq, g.scalarInt(1)});
}

Mask causalMask(GraphBuilder &g, const Value &ids, const Value &padding) {
  const ModelSpec &spec = g.spec();
  Mask mask;
  if (usesAttentionOp(g)) {
    mask.causal = true;
    if (!padding.empty())
      mask.keep = keepMask(g, padding);
    return mask;
  }
  bool table = g.exporter() && spec.kind == Kind::Gpt2 && spec.seq <= kLargestTable;
  if (table) {
    onnx::Tensor triangle;
    for (int64_t dim : {int64_t(1), int64_t(1), spec.seq, spec.seq})
      triangle.add_dims(dim);
    triangle.set_data_type(onnx::Tensor::BOOL);
    std::string bytes(spec.seq * spec.seq, 0);
    for (int64_t row = 0; row < spec.seq; ++row)
      std::fill_n(bytes.begin() + row * spec.seq, row + 1, 1);
    triangle.set_raw_data(std::move(bytes));
    mask.triangle = g.buffer("transformer.h.0.attn.bias", std::move(triangle));
    if (!padding.empty())
      mask.additive = paddingMask(g, padding).additive;
    return mask;
  }
  Value positions = positionsOf(g, ids);
  Value hidden = g.op("Greater", {g.unsqueeze(positions, {0}), g.unsqueeze(positions, {1})});
  hidden = g.unsqueeze(hidden, {0, 1});
  if (!padding.empty()) {
    Value padded = g.op("Equal", {padding, g.scalarInt(0)});
    hidden = g.op("Or", {hidden, g.unsqueeze(padded, {1, 2})});
  }
  mask.additive = g.op("Where", {hidden, g.real(lowest(spec.dtype)), g.real(0)});
  return mask;
}

Mask paddingMask(GraphBuilder &g, const Value &padding) {
  Mask mask;
  if (usesAttentionOp(g)) {
    mask.keep = keepMask(g, padding);
    return mask;
  }
  Value wide =
      g.exporter() ? g.unsqueeze(g.unsqueeze(padding, {1}), {2}) : g.unsqueeze(padding, {1, 2});
  Value hidden = g.op("Sub", {g.real(1), g.cast(wide, g.dataType())});
  mask.additive = g.op("Mul", {hidden, g.real(lowest(g.spec().dtype))});
  return mask;
}

/// Of the pairs of a head. With a factor, as Llama 3.1's `rope_scaling` of type `llama3`: waves
/// longer than the context are that much longer, those shorter than a quarter of it stay, and
/// between them the share goes with how often a wave fits the context.
static std::vector<double> rotaryFrequencies(const ModelSpec &spec) {
  constexpr double kFewest = 1, kMost = 4; // times that a wave fits
  int64_t half = spec.headDim() / 2;
  std::vector<double> frequencies(half);
  for (int64_t i = 0; i < half; ++i) {
    double frequency = std::pow(spec.ropeTheta, -double(i) / double(half));
    if (spec.ropeFactor > 1) {
      double waves = double(spec.ropeContext) * frequency / (2 * M_PI);
      double kept = std::clamp((waves - kFewest) / (kMost - kFewest), 0.0, 1.0);
      frequency *= kept + (1 - kept) / spec.ropeFactor;
    }
    frequencies[i] = frequency;
  }
  return frequencies;
}

Rotary rotaryTables(GraphBuilder &g, const Value &ids) {
  const ModelSpec &spec = g.spec();
  int64_t half = spec.headDim() / 2;
  std::vector<double> frequencies = rotaryFrequencies(spec);

  Rotary rotary;
  if (usesAttentionOp(g)) {
    std::vector<double> cos, sin;
    for (int64_t position = 0; position < spec.seq; ++position)
      for (double frequency : frequencies) {
        cos.push_back(std::cos(double(position) * frequency));
        sin.push_back(std::sin(double(position) * frequency));
      }
    rotary.cos = g.buffer("cos_cache", g.realTensor({spec.seq, half}, cos));
    rotary.sin = g.buffer("sin_cache", g.realTensor({spec.seq, half}, sin));
    Value row = g.unsqueeze(positionsOf(g, ids), {0});
    rotary.positions = g.op("Expand", {row, g.op("Shape", {ids})});
    return rotary;
  }
  GraphBuilder::Scope scope(g, "rotary_emb");
  int32_t wide = wideType(g);
  Value inverse = g.buffer("inv_freq", g.realTensor({1, half, 1}, frequencies, wide));
  Value row = g.unsqueeze(positionsOf(g, ids), {0, 1}); // [1, 1, seq]
  Value angles = g.op("MatMul", {inverse, g.cast(row, wide)});
  angles = g.transpose(angles, {0, 2, 1});
  Value both = g.op("Concat", {angles, angles}, {Attr("axis", -1)});
  auto table = [&](StringRef function) {
    Value wave = g.op(function, {both});
    if (g.dataType() != wide)
      wave = g.cast(wave, g.dataType());
    return g.unsqueeze(wave, {1});
  };
  rotary.cos = table("Cos");
  rotary.sin = table("Sin");
  return rotary;
}

Value attend(GraphBuilder &g, Value q, Value k, Value v, const Mask &mask, const Rotary *rotary) {
  const ModelSpec &spec = g.spec();
  if (usesAttentionOp(g))
    return attentionOp(g, q, k, v, mask, rotary);
  q = splitHeads(g, q, spec.heads);
  k = splitHeads(g, k, spec.kvHeads);
  v = splitHeads(g, v, spec.kvHeads);
  if (rotary) {
    q = rotate(g, q, *rotary);
    k = rotate(g, k, *rotary);
  }
  k = repeatHeads(g, k);
  v = repeatHeads(g, v);
  double scale = 1 / std::sqrt(double(spec.headDim()));
  Value scores;
  if (g.exporter() && spec.attention == "sdpa") {
    // torch's symbolic for scaled_dot_product_attention scales both factors by
    // the root of the scale, which it computes from the shape of q.
    auto rootScale = [&] {
      Value head = g.slice(g.op("Shape", {q}), g.ints({-1}), g.ints({INT64_MAX}), 0);
      Value root = g.op("Sqrt", {g.cast(head, g.dataType())});
      return g.op("Sqrt", {g.op("Div", {g.real(1), root})});
    };
    Value turned = g.transpose(k, {0, 1, 3, 2});
    scores = g.op("MatMul", {g.op("Mul", {q, rootScale()}), g.op("Mul", {turned, rootScale()})});
  } else {
    Value product = g.op("MatMul", {q, g.transpose(k, {0, 1, 3, 2})});
    scores = g.exporter() ? g.op("Div", {product, g.real(1 / scale)})
                          : g.op("Mul", {product, g.real(scale)});
  }
  scores = withMask(g, scores, q, k, mask);
  return mergeHeads(g, g.op("MatMul", {softmaxOf(g, scores), v}));
}

} // namespace weft::builders
