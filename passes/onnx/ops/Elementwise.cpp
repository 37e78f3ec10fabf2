// Elementwise arithmetic, comparison, logic, bits and casts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;
using nn::CompareKind;

template <typename Op> static Results unary(NodeContext &n) { return {n.b.unary<Op>(n.in(0))}; }

/// The second operand; before opset 7 `axis` said where its dims stand.
static Value second(NodeContext &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y || n.opset >= 7 || !n.integer("broadcast", 0) || !n.attribute("axis"))
    return y;
  std::optional<int64_t> axis = n.axis(0);
  if (!axis)
    return Value();
  SmallVector<int64_t> shape(n.b.shapeOf(y));
  int64_t missing = n.b.rankOf(x) - *axis - n.b.rankOf(y);
  if (missing < 0)
    return n.fail("'axis' leaves no room for the second operand");
  shape.append(missing, 1);
  return n.b.reshape(y, shape);
}

template <typename Op> static Results binary(NodeContext &n) {
  return {n.b.binary<Op>(n.in(0), second(n))};
}

template <CompareKind kind> static Results compare(NodeContext &n) {
  return {n.b.compare(kind, n.in(0), second(n))};
}

/// Max, Min and Sum of one or more operands, from left to right.
template <typename Op> static Results variadic(NodeContext &n) {
  Value result = n.in(0);
  for (unsigned i = 1; i < n.numInputs(); ++i)
    result = n.b.binary<Op>(result, n.in(i));
  return {result};
}

static Results mean(NodeContext &n) {
  return {n.b.inFloat(n.in(0), [&](Value sum) {
    for (unsigned i = 1; i < n.numInputs(); ++i) {
      Value next = n.in(i);
      sum = sum && next ? n.b.add(sum, n.b.cast(next, n.b.elementOf(sum))) : Value();
    }
    return sum ? n.b.div(sum, n.b.fullLike(sum, n.numInputs())) : sum;
  })};
}

static Results isInf(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  bool negative = n.integer("detect_negative", 1), positive = n.integer("detect_positive", 1);
  Value above = n.b.compare(CompareKind::Eq, x, HUGE_VAL),
        below = n.b.compare(CompareKind::Eq, x, -HUGE_VAL);
  if (positive && negative)
    return {n.b.binary<nn::OrOp>(above, below)};
  if (positive || negative)
    return {positive ? above : below};
  return {n.b.full(n.b.shapeOf(x), n.b.i1(), 0)};
}

/// Whether `type` holds a known number exactly.
static bool holds(Type type, const HostTensor &value) {
  auto floats = dyn_cast<FloatType>(type);
  if (!floats || !value.isFloat())
    return floats && std::abs(value.integers[0]) <= 256; // as all types of floats do
  llvm::APFloat number(value.reals[0]);
  bool loses = false;
  number.convert(floats.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return !loses;
}

/// The exponent's type may differ; the result has the base's.
static Results power(NodeContext &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return {};
  Type element = n.b.elementOf(x);
  bool keeps = n.b.elementOf(y) == element;
  if (NnBuilder::isConstant(y) && n.b.sizeOf(n.b.shapeOf(y)) == 1 &&
      n.b.rankOf(y) <= n.b.rankOf(x)) {
    auto value = n.b.known(y);
    keeps |= holds(element, *value);
    if (value->isFloat() ? value->reals[0] == 2 : value->integers[0] == 2)
      return {n.b.mul(x, x)};
  }
  if (n.b.isFloat(y) && !n.b.isFloat(x)) {
    // f32 does not hold all integers of 32 bits.
    Type f64 = n.b.builder.getF64Type();
    return {n.b.cast(n.b.binary<nn::PowOp>(n.b.cast(x, f64), n.b.cast(y, f64)), element)};
  }
  if (keeps)
    return {n.b.binary<nn::PowOp>(x, n.b.cast(y, element))};
  // 2049 is no f16, and of -1 its power is another.
  return {n.b.inFloat(
      x, [&](Value x) { return n.b.binary<nn::PowOp>(x, n.b.cast(y, n.b.elementOf(x))); })};
}

/// `fmod` has the sign of the dividend (C), else that of the divisor (Python).
static Results modulo(NodeContext &n) {
  auto [x, y] = n.b.broadcastPair(n.in(0), n.in(1));
  if (!x)
    return {};
  Value remainder = n.b.make<nn::RemOp>(x, y);
  if (n.integer("fmod", 0))
    return {remainder};
  if (n.b.isFloat(x) && n.opset < 28)
    return {n.fail("floats need 'fmod' = 1 before opset 28")};
  if (n.b.isUnsigned(x))
    return {remainder};
  Value signsDiffer = n.b.binary<nn::XorOp>(n.b.compare(CompareKind::Lt, remainder, 0.0),
                                            n.b.compare(CompareKind::Lt, y, 0.0));
  Value wrong = n.b.binary<nn::AndOp>(signsDiffer, n.b.compare(CompareKind::Ne, remainder, 0.0));
  return {n.b.select(wrong, n.b.add(remainder, y), remainder)};
}

static Results bitShift(NodeContext &n) {
  auto direction = n.word("direction", "", {"LEFT", "RIGHT"});
  if (!direction)
    return {};
  return *direction == "LEFT" ? binary<nn::ShiftLeftOp>(n) : binary<nn::ShiftRightOp>(n);
}

/// Before opset 6 the element type of a cast was a name; 0 for one that we do not compute with.
static int64_t numberOfType(llvm::StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("FLOAT", 1)
      .Case("UINT8", 2)
      .Case("INT8", 3)
      .Case("UINT16", 4)
      .Case("INT16", 5)
      .Case("INT32", 6)
      .Case("INT64", 7)
      .Case("BOOL", 9)
      .Case("FLOAT16", 10)
      .Case("DOUBLE", 11)
      .Case("UINT32", 12)
      .Case("UINT64", 13)
      .Default(0);
}

static Results castByName(NodeContext &n) {
  llvm::StringRef to = n.text("to", "");
  Type element = elementTypeOf(n.node.getContext(), numberOfType(to));
  return {element ? n.b.cast(n.in(0), element)
                  : n.fail("element type '" + to + "' is not supported")};
}

static Results castTo(NodeContext &n) {
  int64_t to = n.integer("to", 0);
  Type element = elementTypeOf(n.node.getContext(), to);
  if (!element)
    return {n.fail("element type " + llvm::Twine(to) + " of the file format is not supported")};
  return {n.b.cast(n.in(0), element)};
}

static Results castLike(NodeContext &n) {
  Value like = n.in(1);
  return {like ? n.b.cast(n.in(0), n.b.elementOf(like)) : Value()};
}

static Results where(NodeContext &n) { return {n.b.select(n.in(0), n.in(1), n.in(2))}; }

/// Bounds were attributes before opset 11.
static Results clip(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  if (n.opset < 11) {
    double low = n.real("min", -HUGE_VAL), high = n.real("max", HUGE_VAL);
    if (low > -HUGE_VAL)
      x = n.b.max(x, low);
    if (high < HUGE_VAL)
      x = n.b.min(x, high);
    return {x};
  }
  if (n.has(1))
    x = n.b.max(x, n.setting(1));
  if (n.has(2))
    x = n.b.min(x, n.setting(2));
  return {x};
}

void weft::onnx::registerElementwise(Registry &r) {
  r.add("Abs", unary<nn::AbsOp>);
  r.add("Neg", unary<nn::NegateOp>);
  r.add("Sign", unary<nn::SignOp>);
  r.add("Exp", unary<nn::ExpOp>);
  r.add("Log", unary<nn::LogOp>);
  r.add("Sqrt", unary<nn::SqrtOp>);
  r.add("Reciprocal", unary<nn::ReciprocalOp>);
  r.add("Sin", unary<nn::SinOp>);
  r.add("Cos", unary<nn::CosOp>);
  r.add("Tan", unary<nn::TanOp>);
  r.add("Asin", unary<nn::AsinOp>);
  r.add("Acos", unary<nn::AcosOp>);
  r.add("Atan", unary<nn::AtanOp>);
  r.add("Sinh", unary<nn::SinhOp>);
  r.add("Cosh", unary<nn::CoshOp>);
  r.add("Tanh", unary<nn::TanhOp>);
  r.add("Asinh", unary<nn::AsinhOp>);
  r.add("Acosh", unary<nn::AcoshOp>);
  r.add("Atanh", unary<nn::AtanhOp>);
  r.add("Erf", unary<nn::ErfOp>);
  r.add("Sigmoid", unary<nn::SigmoidOp>);
  r.add("Ceil", unary<nn::CeilOp>);
  r.add("Floor", unary<nn::FloorOp>);
  r.add("Round", unary<nn::RoundOp>);
  r.add("Not", unary<nn::NotOp>);
  r.add("BitwiseNot", unary<nn::NotOp>);
  r.add("IsNaN", unary<nn::IsNanOp>);
  r.add("IsInf", isInf);
  r.add("Add", binary<nn::AddOp>);
  r.add("Sub", binary<nn::SubOp>);
  r.add("Mul", binary<nn::MulOp>);
  r.add("Div", binary<nn::DivOp>);
  r.add("Pow", power);
  r.add("Mod", modulo);
  r.add("And", binary<nn::AndOp>);
  r.add("Or", binary<nn::OrOp>);
  r.add("Xor", binary<nn::XorOp>);
  r.add("BitwiseAnd", binary<nn::AndOp>);
  r.add("BitwiseOr", binary<nn::OrOp>);
  r.add("BitwiseXor", binary<nn::XorOp>);
  r.add("BitShift", bitShift);
  r.add("Equal", compare<CompareKind::Eq>);
  r.add("Less", compare<CompareKind::Lt>);
  r.add("LessOrEqual", compare<CompareKind::Le>);
  r.add("Greater", compare<CompareKind::Gt>);
  r.add("GreaterOrEqual", compare<CompareKind::Ge>);
  r.add("Max", variadic<nn::MaxOp>);
  r.add("Min", variadic<nn::MinOp>);
  r.add("Sum", variadic<nn::AddOp>);
  r.add("Mean", mean);
  r.add("Cast", 1, 5, castByName);
  r.addSince("Cast", 6, castTo);
  r.add("CastLike", castLike);
  r.add("Where", where);
  r.add("Clip", clip);
}
