// Activation functions and softmax in its two definitions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/ops/ActivationFunctions.h"

#include "passes/onnx/Registry.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;
using nn::CompareKind;

static Results relu(NodeContext &n) { return {n.b.max(n.in(0), 0.0)}; }

static Value whereNegative(NnBuilder &b, Value x, Value negative, Value otherwise) {
  return b.select(b.compare(CompareKind::Lt, x, 0.0), negative, otherwise);
}

Value weft::onnx::leakyRelu(NnBuilder &b, Value x, double alpha) {
  return whereNegative(b, x, b.mul(x, alpha), x);
}

static Results leakyReluOp(NodeContext &n) {
  return {leakyRelu(n.b, n.in(0), n.real("alpha", 0.01))};
}

static Results pRelu(NodeContext &n) {
  Value x = n.in(0), slope = n.in(1);
  if (!x || !slope)
    return {};
  // Before opset 7 a vector was one slope a channel.
  if (n.opset < 7 && n.b.rankOf(slope) == 1 && n.b.rankOf(x) > 1 &&
      n.b.shapeOf(slope)[0] == n.b.shapeOf(x)[1])
    slope = n.b.broadcastDims(slope, n.b.shapeOf(x), {1});
  return {whereNegative(n.b, x, n.b.mul(x, n.b.broadcastTo(slope, n.b.shapeOf(x))), x)};
}

/// e^x - 1 where x is negative, and elsewhere no e^x that overflows, by which a gradient of zero
/// would be multiplied.
static Value expm1OfNegative(NnBuilder &b, Value x) { return b.unary<nn::Expm1Op>(b.min(x, 0.0)); }

/// x, or alpha (e^x - 1) where x is negative.
Value weft::onnx::elu(NnBuilder &b, Value x, double alpha) {
  return whereNegative(b, x, b.mul(expm1OfNegative(b, x), alpha), x);
}

static Results eluOp(NodeContext &n) { return {elu(n.b, n.in(0), n.real("alpha", 1.0))}; }

static Results selu(NodeContext &n) {
  Value inner = elu(n.b, n.in(0), n.real("alpha", 1.67326319217681884765625));
  return {n.b.mul(inner, n.real("gamma", 1.05070102214813232421875))};
}

static Results celu(NodeContext &n) {
  Value x = n.in(0);
  double alpha = n.real("alpha", 1.0);
  if (!x)
    return {};
  // Of a negative alpha the quotient is positive where x is negative.
  Value scaled = n.b.div(n.b.min(x, 0.0), n.b.fullLike(x, alpha));
  return {whereNegative(n.b, x, n.b.mul(n.b.unary<nn::Expm1Op>(scaled), alpha), x)};
}

Value weft::onnx::hardSigmoid(NnBuilder &b, Value x, double alpha, double beta) {
  return b.max(b.min(b.add(b.mul(x, alpha), beta), 1.0), 0.0);
}

static Results hardSigmoidOp(NodeContext &n) {
  return {hardSigmoid(n.b, n.in(0), n.real("alpha", 0.2), n.real("beta", 0.5))};
}

static Results hardSwish(NodeContext &n) {
  return {n.b.mul(n.in(0), hardSigmoid(n.b, n.in(0), 1.0 / 6, 0.5))};
}

/// log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|). The first term is (x + |x|) / 2, of
/// which the gradient at zero is that of the whole, 1/2. Below the bound all is 0 in every type.
Value weft::onnx::softplus(NnBuilder &b, Value x) {
  constexpr double kVanishes = -1e4;
  Value held = b.max(x, kVanishes);
  Value magnitude = b.unary<nn::AbsOp>(held);
  Value large = b.add(b.mul(held, 0.5), b.mul(magnitude, 0.5));
  Value small = b.unary<nn::ExpOp>(b.unary<nn::NegateOp>(magnitude));
  return b.add(large, b.unary<nn::Log1pOp>(small));
}

static Results softplusOp(NodeContext &n) { return {softplus(n.b, n.in(0))}; }

Value weft::onnx::softsign(NnBuilder &b, Value x) {
  return b.div(x, b.add(b.unary<nn::AbsOp>(x), 1.0));
}

static Results softsignOp(NodeContext &n) { return {softsign(n.b, n.in(0))}; }

static Results mish(NodeContext &n) {
  return {n.b.mul(n.in(0), n.b.unary<nn::TanhOp>(softplus(n.b, n.in(0))))};
}

Value weft::onnx::thresholdedRelu(NnBuilder &b, Value x, double alpha) {
  return x ? b.select(b.compare(CompareKind::Gt, x, alpha), x, b.fullLike(x, 0)) : x;
}

static Results thresholdedReluOp(NodeContext &n) {
  return {thresholdedRelu(n.b, n.in(0), n.real("alpha", 1.0))};
}

const NamedActivation *weft::onnx::findActivation(llvm::StringRef name) {
  using B = NnBuilder;
  constexpr std::optional<double> none;
  static const NamedActivation table[] = {
      {"Relu", 0, none, none, [](B &b, Value x, double, double) { return b.max(x, 0.0); }},
      {"Tanh", 0, none, none, [](B &b, Value x, double, double) { return b.unary<nn::TanhOp>(x); }},
      {"Sigmoid", 0, none, none,
       [](B &b, Value x, double, double) { return b.unary<nn::SigmoidOp>(x); }},
      {"Softsign", 0, none, none, [](B &b, Value x, double, double) { return softsign(b, x); }},
      {"Softplus", 0, none, none, [](B &b, Value x, double, double) { return softplus(b, x); }},
      {"LeakyRelu", 1, 0.01, none,
       [](B &b, Value x, double a, double) { return leakyRelu(b, x, a); }},
      {"ThresholdedRelu", 1, 1.0, none,
       [](B &b, Value x, double a, double) { return thresholdedRelu(b, x, a); }},
      {"Elu", 1, 1.0, none, [](B &b, Value x, double a, double) { return elu(b, x, a); }},
      {"HardSigmoid", 2, 0.2, 0.5,
       [](B &b, Value x, double a, double c) { return hardSigmoid(b, x, a, c); }},
      {"Clip", 2, -HUGE_VAL, HUGE_VAL,
       [](B &b, Value x, double a, double c) { return b.min(b.max(x, a), c); }},
      {"Affine", 2, none, none,
       [](B &b, Value x, double a, double c) { return b.add(b.mul(x, a), c); }},
      {"ScaledTanh", 2, none, none,
       [](B &b, Value x, double a, double c) {
         return b.mul(b.unary<nn::TanhOp>(b.mul(x, c)), a);
       }},
  };
  for (const NamedActivation &known : table)
    if (known.name.equals_insensitive(name))
      return &known;
  return nullptr;
}

static Results shrink(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  double lambda = n.real("lambd", 0.5), bias = n.real("bias", 0.0);
  return {n.b.withNumbers(x, {lambda, -lambda, bias, -bias}, [&](Value x) {
    Value above =
        n.b.select(n.b.compare(CompareKind::Gt, x, lambda), n.b.add(x, -bias), n.b.fullLike(x, 0));
    return n.b.select(n.b.compare(CompareKind::Lt, x, -lambda), n.b.add(x, bias), above);
  })};
}

static Results gelu(NodeContext &n) {
  auto approximate = n.word("approximate", "none", {"none", "tanh"});
  return {approximate ? n.b.make<nn::GeluOp>(n.in(0), *approximate == "tanh") : Value()};
}

static Results swish(NodeContext &n) {
  double alpha = n.real("alpha", 1.0);
  Value x = n.in(0);
  if (alpha == 1.0)
    return {n.b.unary<nn::SiluOp>(x)};
  return {n.b.mul(x, n.b.unary<nn::SigmoidOp>(n.b.mul(x, alpha)))};
}

/// swish(gate) * value; unlike elsewhere nothing is broadcast.
static Results swiGlu(NodeContext &n) {
  Value gate = n.in(0), value = n.in(1);
  if (!gate || !value)
    return {};
  if (n.b.shapeOf(gate) != n.b.shapeOf(value))
    return {n.fail("gate and value must have the same shape")};
  Results swished = swish(n);
  return {n.b.mul(swished.front(), value)};
}

/// Before opset 13 the dims from `axis` on were one.
static Value flattenFrom(NodeContext &n, Value x, int64_t axis) {
  NnBuilder::Shape shape = n.b.shapeOf(x);
  return n.b.reshape(x, {n.b.sizeOf(shape.take_front(axis)), n.b.sizeOf(shape.drop_front(axis))});
}

template <bool log> static Results softmax(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  std::optional<int64_t> axis = n.axis(-1);
  return {axis ? n.b.softmax(x, *axis, log) : Value()};
}

template <bool log> static Results softmaxFlat(NodeContext &n) {
  Value x = n.in(0);
  std::optional<int64_t> axis = x ? n.axis(1) : std::nullopt;
  if (!axis)
    return {};
  // The last dim alone is the same in both definitions.
  if (*axis == n.b.rankOf(x) - 1)
    return {n.b.softmax(x, *axis, log)};
  return {n.b.reshape(n.b.softmax(flattenFrom(n, x, *axis), 1, log), n.b.shapeOf(x))};
}

/// One at the first maximum along `axis`, zero elsewhere.
static Value hardmaxAlong(NodeContext &n, Value x, int64_t axis) {
  if (!x)
    return x;
  SmallVector<int64_t> kept(n.b.shapeOf(x));
  kept.erase(kept.begin() + axis);
  Value first = n.b.make<nn::ArgReduceOp>(RankedTensorType::get(kept, n.b.i64()), ReduceKind::Max,
                                          x, axis, false);
  Value isFirst = n.b.compare(CompareKind::Eq, n.b.iotaAlong(n.b.shapeOf(x), axis),
                              n.b.unsqueeze(first, {axis}));
  return n.b.cast(isFirst, n.b.elementOf(x));
}

static Results hardmax(NodeContext &n) {
  Value x = n.in(0);
  std::optional<int64_t> axis = x ? n.axis(n.opset < 13 ? 1 : -1) : std::nullopt;
  if (!axis)
    return {};
  if (n.opset >= 13)
    return {hardmaxAlong(n, x, *axis)};
  return {n.b.reshape(hardmaxAlong(n, flattenFrom(n, x, *axis), 1), n.b.shapeOf(x))};
}

void weft::onnx::registerActivations(Registry &r) {
  r.add("Relu", relu);
  r.add("LeakyRelu", leakyReluOp);
  r.add("PRelu", pRelu);
  r.add("Elu", eluOp);
  r.add("Selu", selu);
  r.add("Celu", celu);
  r.add("HardSigmoid", hardSigmoidOp);
  r.add("HardSwish", hardSwish);
  r.add("Softplus", softplusOp);
  r.add("Softsign", softsignOp);
  r.add("Mish", mish);
  r.add("ThresholdedRelu", thresholdedReluOp);
  r.add("Shrink", shrink);
  r.addSince("Gelu", 20, gelu);
  r.addSince("Swish", 24, swish);
  r.addSince("SwiGLU", 28, swiGlu);
  r.add("Softmax", 1, 12, softmaxFlat<false>);
  r.addSince("Softmax", 13, softmax<false>);
  r.add("LogSoftmax", 1, 12, softmaxFlat<true>);
  r.addSince("LogSoftmax", 13, softmax<true>);
  r.add("Hardmax", hardmax);
}
