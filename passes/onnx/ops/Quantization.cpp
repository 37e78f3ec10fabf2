// Linear quantisation, and integer products and convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/Window.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// A scale or zero point, one number or one an entry of `axis`, in the shape of
/// `like`.
static Value alongAxis(NodeContext &n, Value parameter, Value like, int64_t axis) {
  if (!parameter || !like)
    return Value();
  NnBuilder::Shape shape = n.b.shapeOf(like);
  if (n.b.sizeOf(n.b.shapeOf(parameter)) == 1)
    return n.b.broadcastTo(n.b.reshape(parameter, {}), shape);
  if (n.b.rankOf(parameter) != 1 || axis < 0 || axis >= n.b.rankOf(like) ||
      n.b.shapeOf(parameter)[0] != shape[axis])
    return n.fail("only one scale for all or one an entry of the axis is supported");
  return n.b.broadcastDims(parameter, shape, {axis});
}

static std::optional<std::pair<double, double>> limitsOf(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() < 8 || integer.getWidth() > 16)
    return std::nullopt;
  double size = std::ldexp(1, integer.getWidth());
  return integer.isUnsigned() ? std::pair(0.0, size - 1) : std::pair(-size / 2, size / 2 - 1);
}

/// round(x) + zero, clamped to the type. `x` is a float.
static Value saturate(NodeContext &n, Value x, Value zero, Type type) {
  auto limits = limitsOf(type);
  if (!limits)
    return n.fail("quantised types are 8 and 16 bit integers");
  Value rounded = n.b.unary<nn::RoundOp>(x);
  if (zero && rounded)
    rounded = n.b.add(rounded, n.b.cast(zero, n.b.elementOf(rounded)));
  return n.b.cast(n.b.min(n.b.max(rounded, limits->first), limits->second), type);
}

static Results quantize(NodeContext &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale)
    return {};
  if (n.integer("block_size", 0))
    return {n.fail("blocked quantisation is not supported")};
  Type type = n.has(2) ? n.b.elementOf(n.in(2)) : n.b.builder.getIntegerType(8, false);
  if (int64_t given = n.integer("output_dtype", 0))
    type = elementTypeOf(n.node.getContext(), given);
  int64_t axis = n.integer("axis", 1);
  axis = axis < 0 ? axis + n.b.rankOf(x) : axis;
  Value wide = n.b.cast(x, n.b.f32());
  Value quotient = n.b.div(wide, alongAxis(n, n.b.cast(scale, n.b.f32()), wide, axis));
  Value zero = n.has(2) ? alongAxis(n, n.in(2), wide, axis) : Value();
  return {type ? saturate(n, quotient, zero, type) : n.fail("'output_dtype' is not supported")};
}

static Results dequantize(NodeContext &n) {
  Value x = n.in(0), scale = n.in(1);
  if (!x || !scale)
    return {};
  if (n.integer("block_size", 0))
    return {n.fail("blocked quantisation is not supported")};
  int64_t axis = n.integer("axis", 1);
  axis = axis < 0 ? axis + n.b.rankOf(x) : axis;
  // The numbers themselves are beyond what a small scale's type holds.
  Type element = n.b.elementOf(scale);
  Type wide = element.getIntOrFloatBitWidth() < 32 ? n.b.f32() : element;
  Value value = n.b.cast(x, wide);
  if (n.has(2))
    value = n.b.sub(value, n.b.cast(alongAxis(n, n.in(2), x, axis), wide));
  return {n.b.cast(n.b.mul(value, alongAxis(n, n.b.cast(scale, wide), value, axis)), element)};
}

static Results dynamicQuantize(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  SmallVector<int64_t> all = n.b.range(0, n.b.rankOf(x));
  Value high = n.b.max(n.b.reduce(ReduceKind::Max, x, all, false), 0.0);
  Value low = n.b.min(n.b.reduce(ReduceKind::Min, x, all, false), 0.0);
  Value span = n.b.sub(high, low);
  // Of zeros alone the scale may be any; the standard's reference has 1.
  Value scale = span ? n.b.select(n.b.compare(nn::CompareKind::Eq, span, 0.0),
                                  n.b.fullLike(span, 1), n.b.div(span, n.b.fullLike(span, 255)))
                     : Value();
  Type byte = n.b.builder.getIntegerType(8, false);
  Value zero = saturate(n, n.b.div(n.b.unary<nn::NegateOp>(low), scale), Value(), byte);
  if (!zero)
    return {};
  Value quotient = n.b.div(x, n.b.broadcastTo(scale, n.b.shapeOf(x)));
  return {saturate(n, quotient, n.b.broadcastTo(zero, n.b.shapeOf(x)), byte), scale, zero};
}

/// x - zero as 32-bit integers; the zero point lies along `axis` if a vector.
static Value centred(NodeContext &n, unsigned index, unsigned zeroIndex, int64_t axis) {
  Value x = n.in(index);
  if (!x)
    return x;
  Type i32 = n.b.builder.getI32Type();
  Value wide = n.b.cast(x, i32);
  if (!n.has(zeroIndex))
    return wide;
  Value zero = n.b.cast(n.in(zeroIndex), i32);
  return n.b.sub(wide, alongAxis(n, zero, wide, axis));
}

static Results matmulInteger(NodeContext &n) {
  Value a = n.in(0), c = n.in(1);
  if (!a || !c)
    return {};
  return {n.b.matmul(centred(n, 0, 2, n.b.rankOf(a) - 2), centred(n, 1, 3, n.b.rankOf(c) - 1))};
}

static Results convInteger(NodeContext &n) {
  return {convolve(n, centred(n, 0, 2, 1), centred(n, 1, 3, 0))};
}

/// product * scale of a * scale of b / scale of the result, saturated. Scales may be one number
/// each, or one for each place along `axisA` (of a and the result) and `axisB`.
static Value requantize(NodeContext &n, Value product, Value scaleA, Value scaleB, unsigned scaleY,
                        int64_t axisA, int64_t axisB) {
  Value y = n.in(scaleY), zero = n.in(scaleY + 1);
  if (!product || !scaleA || !scaleB || !y || !zero)
    return Value();
  Value wide = n.b.cast(product, n.b.f32());
  auto factor = [&](Value scale, int64_t axis) {
    return alongAxis(n, n.b.cast(scale, n.b.f32()), wide, axis);
  };
  Value scaled = n.b.mul(n.b.mul(wide, factor(scaleA, axisA)), factor(scaleB, axisB));
  return saturate(n, n.b.div(scaled, factor(y, axisA)), alongAxis(n, zero, wide, axisA),
                  n.b.elementOf(zero));
}

static Results qlinearMatmul(NodeContext &n) {
  Value a = n.in(0), c = n.in(3);
  if (!a || !c)
    return {};
  Value product =
      n.b.matmul(centred(n, 0, 2, n.b.rankOf(a) - 2), centred(n, 3, 5, n.b.rankOf(c) - 1));
  if (!product)
    return {};
  // By row of a, by column of b.
  int64_t rank = n.b.rankOf(product);
  return {requantize(n, product, n.in(1), n.in(4), 6, rank - 2, rank - 1)};
}

static Results qlinearConv(NodeContext &n) {
  Value product = convolve(n, centred(n, 0, 2, 1), centred(n, 3, 5, 0));
  if (product && n.has(8))
    product = n.b.add(product, n.b.broadcastDims(n.in(8), n.b.shapeOf(product), {1}));
  return {requantize(n, product, n.in(1), n.in(4), 6, 1, 1)};
}

void weft::onnx::registerQuantization(Registry &r) {
  r.add("QuantizeLinear", quantize);
  r.add("DequantizeLinear", dequantize);
  r.add("DynamicQuantizeLinear", dynamicQuantize);
  r.add("MatMulInteger", matmulInteger);
  r.add("ConvInteger", convInteger);
  r.add("QLinearMatMul", qlinearMatmul);
  r.add("QLinearConv", qlinearConv);
}
