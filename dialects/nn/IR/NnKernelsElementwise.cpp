// Code of elementwise ops: one scalar each, and the loop around it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::nn;

/// Every elementwise op has the same body and is parallel in all dims.
#define ELEMENTWISE_BODY(OP)                                                                       \
  SmallVector<Value> OP::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {        \
    return {buildParallel(builder, loc, bodyType(getResult().getType()), operands, {},             \
                          [&](ScalarBuilder s, ValueRange arguments) {                             \
                            return buildScalar(s.builder, s.loc,                                   \
                                               arguments.take_front(operands.size()));             \
                          })};                                                                     \
  }                                                                                                \
  unsigned OP::getParallelDims() { return getResult().getType().getRank(); }

#define SCALAR(OP)                                                                                 \
  ELEMENTWISE_BODY(OP)                                                                             \
  Value OP::buildScalar(OpBuilder &builder, Location loc, ValueRange operands)

namespace {

/// An op on one float: computed in f32 or wider, rounded to the result's type.
template <typename MathOp> Value floatUnary(OpBuilder &builder, Location loc, Value operand) {
  ScalarBuilder s{builder, loc};
  Value result = MathOp::create(builder, loc, s.widen(operand));
  return s.roundTo(result, operand.getType());
}

/// An op on two floats, or on two integers.
template <typename FloatOp, typename IntegerOp>
Value binary(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarBuilder s{builder, loc};
  Type type = operands[0].getType();
  if (isa<FloatType>(type))
    return s.roundTo(FloatOp::create(builder, loc, s.widen(operands[0]), s.widen(operands[1])),
                     type);
  return IntegerOp::create(builder, loc, operands[0], operands[1]);
}

/// A function of one float given as a lambda.
Value onFloat(OpBuilder &builder, Location loc, Value operand,
              llvm::function_ref<Value(ScalarBuilder, Value)> function) {
  ScalarBuilder s{builder, loc};
  return s.roundTo(function(s, s.widen(operand)), operand.getType());
}

Value select(ScalarBuilder s, Value condition, Value yes, Value no) {
  return arith::SelectOp::create(s.builder, s.loc, condition, yes, no);
}

Value isEqual(ScalarBuilder s, Value value, int64_t constant) {
  return arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::eq, value,
                               s.integer(value.getType(), constant));
}

/// Integer quotient or remainder that never traps: 0 for a zero divisor, and
/// least / -1 wraps.
template <typename SignedOp, typename UnsignedOp>
Value integerDivision(ScalarBuilder s, Value lhs, Value rhs, Type type, bool quotient) {
  Value zero = s.integer(lhs.getType(), 0), one = s.integer(lhs.getType(), 1);
  Value byZero = isEqual(s, rhs, 0);
  if (isUnsignedElement(type)) {
    Value result = UnsignedOp::create(s.builder, s.loc, lhs, select(s, byZero, one, rhs));
    return select(s, byZero, zero, result);
  }
  Value byMinusOne = isEqual(s, rhs, -1);
  Value special = arith::OrIOp::create(s.builder, s.loc, byZero, byMinusOne);
  Value result = SignedOp::create(s.builder, s.loc, lhs, select(s, special, one, rhs));
  Value negated = quotient ? arith::SubIOp::create(s.builder, s.loc, zero, lhs).getResult() : zero;
  return select(s, byZero, zero, select(s, byMinusOne, negated, result));
}

/// By repeated squaring, wrapping. A negative exponent gives the integer part
/// of the quotient: 1 or -1 for those bases, else 0.
Value integerPower(ScalarBuilder s, Value base, Value exponent, Type type) {
  Type valueType = base.getType();
  unsigned width = valueType.getIntOrFloatBitWidth();
  Value zero = s.integer(valueType, 0), one = s.integer(valueType, 1);
  auto loop = scf::ForOp::create(
      s.builder, s.loc, s.index(0), s.index(width), s.index(1), ValueRange{one, base, exponent},
      [&](OpBuilder &nested, Location loc, Value, ValueRange carried) {
        ScalarBuilder n{nested, loc};
        Value bit = isEqual(n, arith::AndIOp::create(nested, loc, carried[2], one), 1);
        Value power = select(n, bit, n.mul(carried[0], carried[1]), carried[0]);
        Value square = n.mul(carried[1], carried[1]);
        Value rest = arith::ShRUIOp::create(nested, loc, carried[2], one);
        scf::YieldOp::create(nested, loc, ValueRange{power, square, rest});
      });
  Value power = loop.getResult(0);
  if (isUnsignedElement(type))
    return power;
  Value negative =
      arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::slt, exponent, zero);
  Value unit = arith::OrIOp::create(s.builder, s.loc, isEqual(s, base, 1), isEqual(s, base, -1));
  // For bases 1 and -1 the loop's power is right whatever the upper bits are.
  return select(s, negative, select(s, unit, power, zero), power);
}

} // namespace

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

#define FLOAT_UNARY(OP, MATH_OP)                                                                   \
  SCALAR(OP) { return floatUnary<MATH_OP>(builder, loc, operands[0]); }

FLOAT_UNARY(ExpOp, math::ExpOp)
FLOAT_UNARY(LogOp, math::LogOp)
FLOAT_UNARY(SqrtOp, math::SqrtOp)
FLOAT_UNARY(SinOp, math::SinOp)
FLOAT_UNARY(CosOp, math::CosOp)
FLOAT_UNARY(TanOp, math::TanOp)
FLOAT_UNARY(AsinOp, math::AsinOp)
FLOAT_UNARY(AcosOp, math::AcosOp)
FLOAT_UNARY(AtanOp, math::AtanOp)
FLOAT_UNARY(SinhOp, math::SinhOp)
FLOAT_UNARY(CoshOp, math::CoshOp)
FLOAT_UNARY(TanhOp, math::TanhOp)
FLOAT_UNARY(AsinhOp, math::AsinhOp)
FLOAT_UNARY(AcoshOp, math::AcoshOp)
FLOAT_UNARY(AtanhOp, math::AtanhOp)
FLOAT_UNARY(ErfOp, math::ErfOp)
FLOAT_UNARY(Log1pOp, math::Log1pOp)
FLOAT_UNARY(Expm1Op, math::ExpM1Op)

SCALAR(NegateOp) {
  if (isa<FloatType>(operands[0].getType()))
    return floatUnary<arith::NegFOp>(builder, loc, operands[0]);
  ScalarBuilder s{builder, loc};
  return arith::SubIOp::create(builder, loc, s.integer(operands[0].getType(), 0), operands[0]);
}

SCALAR(AbsOp) {
  if (isa<FloatType>(operands[0].getType()))
    return floatUnary<math::AbsFOp>(builder, loc, operands[0]);
  if (isUnsignedElement(elementOf(getOperand())))
    return operands[0];
  return math::AbsIOp::create(builder, loc, operands[0]);
}

SCALAR(SignOp) {
  Type type = elementOf(getOperand());
  Value x = operands[0];
  ScalarBuilder s{builder, loc};
  if (isa<FloatType>(type))
    return onFloat(builder, loc, x, [&](ScalarBuilder s, Value x) {
      Value zero = s.constant(x.getType(), 0);
      Value below = select(s, s.compare(CompareKind::Lt, x, zero, x.getType()),
                           s.constant(x.getType(), -1), x);
      return select(s, s.compare(CompareKind::Gt, x, zero, x.getType()), s.constant(x.getType(), 1),
                    below);
    });
  Value zero = s.integer(x.getType(), 0), one = s.integer(x.getType(), 1);
  Value notAbove = isUnsignedElement(type) ? zero
                                           : select(s, s.compare(CompareKind::Lt, x, zero, type),
                                                    s.integer(x.getType(), -1), zero);
  return select(s, s.compare(CompareKind::Gt, x, zero, type), one, notAbove);
}

SCALAR(RsqrtOp) {
  return onFloat(builder, loc, operands[0], [](ScalarBuilder s, Value x) {
    return arith::DivFOp::create(s.builder, s.loc, s.constant(x.getType(), 1),
                                 math::SqrtOp::create(s.builder, s.loc, x))
        .getResult();
  });
}

SCALAR(ReciprocalOp) {
  return onFloat(builder, loc, operands[0], [](ScalarBuilder s, Value x) {
    return arith::DivFOp::create(s.builder, s.loc, s.constant(x.getType(), 1), x).getResult();
  });
}

SCALAR(SigmoidOp) {
  return onFloat(builder, loc, operands[0], [](ScalarBuilder s, Value x) { return s.sigmoid(x); });
}

SCALAR(SiluOp) {
  return onFloat(builder, loc, operands[0],
                 [](ScalarBuilder s, Value x) { return s.mul(x, s.sigmoid(x)); });
}

SCALAR(GeluOp) {
  return onFloat(builder, loc, operands[0],
                 [&](ScalarBuilder s, Value x) { return s.gelu(x, getTanh()); });
}

/// Rounding an integer to an integer changes nothing.
#define ROUNDING(OP, MATH_OP)                                                                      \
  SCALAR(OP) {                                                                                     \
    if (!isa<FloatType>(operands[0].getType()))                                                    \
      return operands[0];                                                                          \
    return floatUnary<MATH_OP>(builder, loc, operands[0]);                                         \
  }

ROUNDING(CeilOp, math::CeilOp)
ROUNDING(FloorOp, math::FloorOp)
ROUNDING(RoundOp, math::RoundEvenOp)

SCALAR(NotOp) {
  ScalarBuilder s{builder, loc};
  return arith::XOrIOp::create(builder, loc, operands[0], s.integer(operands[0].getType(), -1));
}

SCALAR(IsNanOp) {
  ScalarBuilder s{builder, loc};
  if (!isa<FloatType>(operands[0].getType()))
    return s.integer(builder.getI1Type(), 0);
  Value x = s.widen(operands[0]);
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, x, x);
}

//===----------------------------------------------------------------------===//
// Binary and ternary
//===----------------------------------------------------------------------===//

SCALAR(AddOp) { return binary<arith::AddFOp, arith::AddIOp>(builder, loc, operands); }
SCALAR(SubOp) { return binary<arith::SubFOp, arith::SubIOp>(builder, loc, operands); }
SCALAR(MulOp) { return binary<arith::MulFOp, arith::MulIOp>(builder, loc, operands); }

SCALAR(DivOp) {
  if (isa<FloatType>(operands[0].getType()))
    return binary<arith::DivFOp, arith::DivSIOp>(builder, loc, operands);
  return integerDivision<arith::DivSIOp, arith::DivUIOp>({builder, loc}, operands[0], operands[1],
                                                         elementOf(getLhs()), true);
}

SCALAR(RemOp) {
  if (isa<FloatType>(operands[0].getType()))
    return binary<arith::RemFOp, arith::RemSIOp>(builder, loc, operands);
  return integerDivision<arith::RemSIOp, arith::RemUIOp>({builder, loc}, operands[0], operands[1],
                                                         elementOf(getLhs()), false);
}

SCALAR(PowOp) {
  ScalarBuilder s{builder, loc};
  Type type = elementOf(getLhs());
  if (isa<FloatType>(type))
    return s.roundTo(math::PowFOp::create(builder, loc, s.widen(operands[0]), s.widen(operands[1])),
                     type);
  return integerPower(s, operands[0], operands[1], type);
}

SCALAR(Atan2Op) {
  ScalarBuilder s{builder, loc};
  return s.roundTo(math::Atan2Op::create(builder, loc, s.widen(operands[0]), s.widen(operands[1])),
                   operands[0].getType());
}

SCALAR(MaxOp) {
  ScalarBuilder s{builder, loc};
  return s.roundTo(
      s.combine(ReduceKind::Max, s.widen(operands[0]), s.widen(operands[1]), elementOf(getLhs())),
      operands[0].getType());
}

SCALAR(MinOp) {
  ScalarBuilder s{builder, loc};
  return s.roundTo(
      s.combine(ReduceKind::Min, s.widen(operands[0]), s.widen(operands[1]), elementOf(getLhs())),
      operands[0].getType());
}

SCALAR(AndOp) { return arith::AndIOp::create(builder, loc, operands[0], operands[1]); }
SCALAR(OrOp) { return arith::OrIOp::create(builder, loc, operands[0], operands[1]); }
SCALAR(XorOp) { return arith::XOrIOp::create(builder, loc, operands[0], operands[1]); }

SCALAR(ShiftLeftOp) {
  ScalarBuilder s{builder, loc};
  Type type = operands[0].getType();
  Value width = s.integer(type, type.getIntOrFloatBitWidth());
  Value inRange =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, operands[1], width);
  Value amount = select(s, inRange, operands[1], s.integer(type, 0));
  Value shifted = arith::ShLIOp::create(builder, loc, operands[0], amount);
  return select(s, inRange, shifted, s.integer(type, 0));
}

SCALAR(ShiftRightOp) {
  ScalarBuilder s{builder, loc};
  Type type = operands[0].getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  Value inRange = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, operands[1],
                                        s.integer(type, bits));
  Value amount = select(s, inRange, operands[1], s.integer(type, bits - 1));
  if (!isUnsignedElement(elementOf(getLhs())))
    return arith::ShRSIOp::create(builder, loc, operands[0], amount);
  Value shifted = arith::ShRUIOp::create(builder, loc, operands[0], amount);
  return select(s, inRange, shifted, s.integer(type, 0));
}

SCALAR(CompareOp) {
  return ScalarBuilder{builder, loc}.compare(getKind(), operands[0], operands[1],
                                             elementOf(getLhs()));
}

SCALAR(SelectOp) {
  return arith::SelectOp::create(builder, loc, operands[0], operands[1], operands[2]);
}

SCALAR(CastOp) {
  return ScalarBuilder{builder, loc}.cast(operands[0], elementOf(getOperand()),
                                          elementOf(getResult()));
}
