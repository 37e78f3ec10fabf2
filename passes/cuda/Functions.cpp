// Series and reductions of functions of f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft::cuda;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// ln 2 in two parts, the first of so few bits that its product with an exponent is exact.
static constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Numbers::number(double value) const {
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
}
Value Numbers::integer(int64_t value) const {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(word(), value));
}
Value Numbers::add(Value a, Value b) const { return arith::AddFOp::create(builder, loc, a, b); }
Value Numbers::sub(Value a, Value b) const { return arith::SubFOp::create(builder, loc, a, b); }
Value Numbers::mul(Value a, Value b) const { return arith::MulFOp::create(builder, loc, a, b); }
Value Numbers::div(Value a, Value b) const { return arith::DivFOp::create(builder, loc, a, b); }
Value Numbers::fma(Value a, Value b, Value c) const {
  return math::FmaOp::create(builder, loc, a, b, c);
}
Value Numbers::abs(Value a) const { return math::AbsFOp::create(builder, loc, a); }
Value Numbers::sqrt(Value a) const { return math::SqrtOp::create(builder, loc, a); }
Value Numbers::nearest(Value a) const { return math::RoundEvenOp::create(builder, loc, a); }
Value Numbers::floor(Value a) const { return math::FloorOp::create(builder, loc, a); }
Value Numbers::withSign(Value magnitude, Value sign) const {
  return math::CopySignOp::create(builder, loc, magnitude, sign);
}
Value Numbers::bits(Value a) const { return arith::BitcastOp::create(builder, loc, word(), a); }
Value Numbers::ofBits(Value a) const { return arith::BitcastOp::create(builder, loc, type, a); }
Value Numbers::less(Value a, double b) const {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, number(b));
}
Value Numbers::greater(Value a, double b) const {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, number(b));
}
Value Numbers::equal(Value a, Value b) const {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b);
}
Value Numbers::isNan(Value a) const {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, a, a);
}
Value Numbers::select(Value condition, Value a, Value b) const {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value Numbers::polynomial(Value x, ArrayRef<double> coefficients) const {
  Value sum = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, number(coefficient));
  return sum;
}

/// `count` terms of a series, from what each is.
static SmallVector<double> series(unsigned count, double (*term)(unsigned)) {
  SmallVector<double> terms;
  for (unsigned i = 0; i < count; ++i)
    terms.push_back(term(i));
  return terms;
}

static double inverseFactorial(unsigned i) { return 1 / std::tgamma(i + 1.0); }

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// 2^exponent for an i64 of a normal number's exponent.
static Value powerOfTwo(Numbers n, Value exponent) {
  Value biased = arith::AddIOp::create(n.builder, n.loc, exponent, n.integer(1023));
  return n.ofBits(arith::ShLIOp::create(n.builder, n.loc, biased, n.integer(52)));
}

/// exp(x) = 2^k e^r, |r| <= ln(2) / 2, e^r by its Taylor polynomial of degree 13 (error below
/// 1e-17).
/// 2^k is multiplied in two halves, because k may pass the range of exponents.
Value weft::cuda::expOf(Numbers n, Value x) {
  Value low = n.select(n.less(x, -746), n.number(-746), x);
  Value held = n.select(n.greater(low, 710), n.number(710), low);
  Value k = n.nearest(n.mul(held, n.number(M_LOG2E)));
  Value r = n.fma(k, n.number(-kLn2High), held);
  r = n.fma(k, n.number(-kLn2Low), r);
  Value p = n.polynomial(r, series(14, inverseFactorial));
  // The conversion to an integer is undefined for NaN.
  Value isNan = n.isNan(x);
  Value exponent = arith::FPToSIOp::create(n.builder, n.loc, n.builder.getI64Type(),
                                           n.select(isNan, n.number(0), k));
  Value half = arith::ShRSIOp::create(n.builder, n.loc, exponent, n.integer(1));
  Value rest = arith::SubIOp::create(n.builder, n.loc, exponent, half);
  p = n.mul(n.mul(p, powerOfTwo(n, half)), powerOfTwo(n, rest));
  return n.select(isNan, x, p);
}

Value weft::cuda::expm1Of(Numbers n, Value x) {
  // x (1 + x / 2 + x^2 / 6 ..), to degree 16.
  Value small =
      n.mul(x, n.polynomial(x, series(16, [](unsigned i) { return inverseFactorial(i + 1); })));
  Value large = n.sub(expOf(n, x), n.number(1));
  return n.select(n.less(n.abs(x), 0.5), small, large);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

namespace {
/// x = 2^exponent mantissa, the mantissa between sqrt(1/2) and sqrt(2); x > 0 and finite.
struct Parts {
  Value exponent, mantissa;
};
} // namespace

static Parts takeApart(Numbers n, Value x) {
  Value isSmall = n.less(x, 0x1p-1022);
  Value scaled = n.select(isSmall, n.mul(x, n.number(0x1p54)), x);
  Value bits = n.bits(scaled);
  // The exponent of the number by sqrt(1/2).
  Value shifted = arith::SubIOp::create(n.builder, n.loc, bits, n.integer(0x3fe6a09e667f3bcd));
  Value exponent = arith::ShRSIOp::create(n.builder, n.loc, shifted, n.integer(52));
  Value power = arith::ShLIOp::create(n.builder, n.loc, exponent, n.integer(52));
  Value mantissa = n.ofBits(arith::SubIOp::create(n.builder, n.loc, bits, power));
  Value number = arith::SIToFPOp::create(n.builder, n.loc, n.builder.getF64Type(), exponent);
  number = n.select(isSmall, n.sub(number, n.number(54)), number);
  return {number, mantissa};
}

static double oddInverse(unsigned i) { return 2.0 / (2 * i + 3); }

/// What the formula says for finite x > 0; else the limits.
static Value withLimits(Numbers n, Value x, Value log) {
  log = n.select(n.equal(x, n.number(0)), n.number(-kInfinity), log);
  log = n.select(n.less(x, 0), n.number(kNan), log);
  log = n.select(n.equal(x, n.number(kInfinity)), x, log);
  return n.select(n.isNan(x), x, log);
}

/// With f = m - 1 and s = f / (2 + f): log m = f - (f^2 / 2 - s (f^2 / 2 + R)), R = 2/3 s^2 + 2/5
/// s^4 ..
/// (fdlibm's e_log.c, with the series instead of its polynomial).
Value weft::cuda::logOf(Numbers n, Value x) {
  Parts parts = takeApart(n, x);
  Value f = n.sub(parts.mantissa, n.number(1));
  Value s = n.div(f, n.add(f, n.number(2)));
  Value z = n.mul(s, s);
  Value r = n.mul(z, n.polynomial(z, series(11, oddInverse)));
  Value half = n.mul(n.mul(f, f), n.number(0.5));
  Value low = n.fma(parts.exponent, n.number(kLn2Low), n.mul(s, n.add(half, r)));
  Value log = n.fma(parts.exponent, n.number(kLn2High), n.sub(f, n.sub(half, low)));
  return withLimits(n, x, log);
}

/// log(1 + x), corrected by what 1 + x lost.
Value weft::cuda::log1pOf(Numbers n, Value x) {
  Value one = n.number(1), u = n.add(x, one);
  Value lost = n.div(n.sub(x, n.sub(u, one)), u);
  Value isPlain = n.equal(n.sub(u, u), n.number(0)); // finite
  isPlain = arith::AndIOp::create(n.builder, n.loc, isPlain, n.greater(u, 0));
  Value log = logOf(n, u);
  Value sum = n.select(isPlain, n.add(log, lost), log);
  // Of what vanishes beside 1, and of zeros, all is lost.
  return n.select(n.less(n.abs(x), 0x1p-54), x, sum);
}

/// exp(y log |x|), the logarithm and its product with y in two words each.
Value weft::cuda::powOf(Numbers n, Value x, Value y) {
  Value magnitude = n.abs(x), one = n.number(1), zero = n.number(0);
  Parts parts = takeApart(n, magnitude);
  Value f = n.sub(parts.mantissa, one), g = n.add(parts.mantissa, one);
  Value lost = n.sub(parts.mantissa, n.sub(g, one));
  auto minus = [&](Value a) { return n.sub(n.number(-0.0), a); };
  Value s = n.div(f, g);
  Value rest = n.div(n.sub(n.fma(minus(s), g, f), n.mul(s, lost)), g);
  Value z = n.mul(s, s);
  Value r = n.mul(z, n.polynomial(z, series(11, oddInverse)));
  Value twice = n.add(s, s);
  Value low = n.fma(s, r, n.add(rest, rest));
  // The exponent's part is larger, or zero.
  Value ofExponent = n.mul(parts.exponent, n.number(kLn2High));
  Value high = n.add(ofExponent, twice);
  Value carried = n.sub(twice, n.sub(high, ofExponent));
  low = n.add(carried, n.fma(parts.exponent, n.number(kLn2Low), low));
  // What is left for the second word is below the first one's last place.
  Value sum = n.add(high, low);
  low = n.sub(low, n.sub(sum, high));
  high = sum;
  Value product = n.mul(y, high);
  Value error = n.fma(y, low, n.fma(y, high, minus(product)));
  // Zeros, infinities and what overflows have no second word.
  Value limit = n.mul(y, withLimits(n, magnitude, high));
  Value isFinite = n.equal(n.sub(limit, limit), zero);
  product = n.select(isFinite, product, limit);
  Value power = expOf(n, product);
  Value isMoved = arith::AndIOp::create(n.builder, n.loc, isFinite, n.less(n.abs(product), 746));
  Value exact = n.fma(power, error, power);
  Value isOverflow = n.equal(power, n.number(kInfinity));
  power = n.select(isOverflow, power, n.select(isMoved, exact, power));
  power = n.select(n.equal(magnitude, one), one, power);
  // Of a negative number: an odd power keeps the sign, one that is no integer is none.
  Value halfOfY = n.mul(y, n.number(0.5));
  Value isWhole = n.equal(n.floor(y), y), isEven = n.equal(n.floor(halfOfY), halfOfY);
  Value isNegative =
      arith::CmpIOp::create(n.builder, n.loc, arith::CmpIPredicate::slt, n.bits(x), n.integer(0));
  Value isBelowZero = n.less(x, 0);
  Value signedPower = n.select(isWhole, n.select(isEven, power, minus(power)),
                               n.select(isBelowZero, n.number(kNan), power));
  // Minus infinity to a power that is no integer is what plus infinity gives.
  signedPower =
      n.select(n.equal(magnitude, n.number(kInfinity)),
               n.select(isWhole, n.select(isEven, power, minus(power)), power), signedPower);
  power = n.select(isNegative, signedPower, power);
  power = n.select(n.isNan(x), x, n.select(n.isNan(y), y, power));
  power = n.select(n.equal(x, one), one, power);
  return n.select(n.equal(y, zero), one, power);
}

//===----------------------------------------------------------------------===//
// Circles
//===----------------------------------------------------------------------===//

/// sin(x) for turn 0, cos(x) for turn 1: x = k pi/2 + r, |r| <= pi/4, with pi/2 in three words.
static Value sineOf(Numbers n, Value x, int64_t turn) {
  Value k = n.nearest(n.mul(x, n.number(M_2_PI)));
  Value r = x;
  for (double word : {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110})
    r = n.fma(k, n.number(-word), r);
  Value z = n.mul(r, r);
  Value sine = n.mul(r, n.polynomial(z, series(9, [](unsigned i) {
                                       return (i % 2 ? -1 : 1) * inverseFactorial(2 * i + 1);
                                     })));
  Value cosine = n.polynomial(
      z, series(10, [](unsigned i) { return (i % 2 ? -1 : 1) * inverseFactorial(2 * i); }));
  // k modulo 4, of any k: what is not finite gives NaN below.
  Value turns = n.sub(k, n.mul(n.floor(n.mul(k, n.number(0.25))), n.number(4)));
  Value isPlain = n.less(n.abs(x), 0x1p1000);
  Value quadrant = arith::FPToSIOp::create(n.builder, n.loc, n.builder.getI64Type(),
                                           n.select(isPlain, turns, n.number(0)));
  quadrant = arith::AddIOp::create(n.builder, n.loc, quadrant, n.integer(turn));
  auto bit = [&](int64_t mask) -> Value {
    Value bits = arith::AndIOp::create(n.builder, n.loc, quadrant, n.integer(mask));
    return arith::CmpIOp::create(n.builder, n.loc, arith::CmpIPredicate::ne, bits, n.integer(0));
  };
  Value value = n.select(bit(1), cosine, sine);
  value = n.select(bit(2), n.sub(n.number(-0.0), value), value);
  return n.select(isPlain, value, n.sub(x, x));
}

Value weft::cuda::sinOf(Numbers n, Value x) { return sineOf(n, x, 0); }
Value weft::cuda::cosOf(Numbers n, Value x) { return sineOf(n, x, 1); }
Value weft::cuda::tanOf(Numbers n, Value x) { return n.div(sineOf(n, x, 0), sineOf(n, x, 1)); }

/// |x| > 1 by the inverse, more than tan(pi/8) by the difference to pi/4, else the series.
Value weft::cuda::atanOf(Numbers n, Value x) {
  Value a = n.abs(x), one = n.number(1);
  Value isLarge = n.greater(a, 1);
  Value b = n.select(isLarge, n.div(one, a), a);
  Value isMiddle = n.greater(b, 0.41421356237309503);
  Value t = n.select(isMiddle, n.div(n.sub(b, one), n.add(b, one)), b);
  Value p = n.mul(t, n.polynomial(n.mul(t, t), series(23, [](unsigned i) {
                                    return (i % 2 ? -1 : 1) / (2.0 * i + 1);
                                  })));
  Value angle = n.select(isMiddle, n.add(n.number(M_PI_4), p), p);
  angle = n.select(isLarge, n.sub(n.number(M_PI_2), angle), angle);
  return n.withSign(angle, x);
}

Value weft::cuda::atan2Of(Numbers n, Value y, Value x) {
  Value height = n.abs(y), width = n.abs(x);
  Value slope = n.div(height, width);
  Value isSame = n.equal(height, width); // also of zeros and infinities
  Value angle = atanOf(n, n.select(isSame, n.number(1), slope));
  angle = n.select(n.equal(height, n.number(0)), n.number(0), angle);
  Value isLeft =
      arith::CmpIOp::create(n.builder, n.loc, arith::CmpIPredicate::slt, n.bits(x), n.integer(0));
  angle = n.withSign(n.select(isLeft, n.sub(n.number(M_PI), angle), angle), y);
  return n.select(n.isNan(x), x, n.select(n.isNan(y), y, angle));
}

Value weft::cuda::asinOf(Numbers n, Value x) {
  Value one = n.number(1);
  return atanOf(n, n.div(x, n.sqrt(n.mul(n.sub(one, x), n.add(one, x)))));
}

Value weft::cuda::acosOf(Numbers n, Value x) {
  Value one = n.number(1);
  Value half = atanOf(n, n.sqrt(n.div(n.sub(one, x), n.add(one, x))));
  return n.add(half, half);
}

//===----------------------------------------------------------------------===//
// Hyperbolas
//===----------------------------------------------------------------------===//

/// e^a / 2 for large a, in two factors.
static Value halfOfExp(Numbers n, Value a) {
  Value root = expOf(n, n.mul(a, n.number(0.5)));
  return n.mul(n.mul(root, n.number(0.5)), root);
}

Value weft::cuda::sinhOf(Numbers n, Value x) {
  Value a = n.abs(x), t = expm1Of(n, a);
  Value sum = n.mul(n.add(t, n.div(t, n.add(t, n.number(1)))), n.number(0.5));
  return n.withSign(n.select(n.greater(a, 700), halfOfExp(n, a), sum), x);
}

Value weft::cuda::coshOf(Numbers n, Value x) {
  Value a = n.abs(x), e = expOf(n, a);
  Value sum = n.mul(n.add(e, n.div(n.number(1), e)), n.number(0.5));
  return n.select(n.greater(a, 700), halfOfExp(n, a), sum);
}

Value weft::cuda::tanhOf(Numbers n, Value x) {
  Value a = n.abs(x), t = expm1Of(n, n.add(a, a));
  Value quotient = n.div(t, n.add(t, n.number(2)));
  return n.withSign(n.select(n.greater(a, 22), n.number(1), quotient), x);
}

Value weft::cuda::asinhOf(Numbers n, Value x) {
  Value a = n.abs(x), one = n.number(1), square = n.mul(a, a);
  Value more = n.div(square, n.add(one, n.sqrt(n.add(one, square))));
  Value large = n.add(logOf(n, a), n.number(M_LN2));
  return n.withSign(n.select(n.greater(a, 1e150), large, log1pOf(n, n.add(a, more))), x);
}

Value weft::cuda::acoshOf(Numbers n, Value x) {
  Value t = n.sub(x, n.number(1));
  Value plain = log1pOf(n, n.add(t, n.sqrt(n.fma(t, t, n.add(t, t)))));
  Value large = n.add(logOf(n, x), n.number(M_LN2));
  return n.select(n.less(x, 1), n.number(kNan), n.select(n.greater(x, 1e150), large, plain));
}

Value weft::cuda::atanhOf(Numbers n, Value x) {
  Value a = n.abs(x), twice = n.add(a, a);
  Value log = log1pOf(n, n.div(twice, n.sub(n.number(1), a)));
  return n.withSign(n.mul(log, n.number(0.5)), x);
}

/// Below 3.5: 2 / sqrt(pi) e^(-x^2) x (1 + 2 x^2 / 3 + (2 x^2)^2 / (3 5) ..), whose terms have one
/// sign;
/// beyond, 1 less a continued fraction for the rest (Abramowitz and Stegun, 7.1.6 and 7.1.14).
Value weft::cuda::erfOf(Numbers n, Value x) {
  Value a = n.abs(x), square = n.mul(a, a), two = n.number(2);
  Value bell = expOf(n, n.sub(n.number(-0.0), square));
  SmallVector<double> terms = {1};
  for (unsigned i = 1; i < 72; ++i)
    terms.push_back(terms.back() / (2 * i + 1));
  Value p = n.polynomial(n.mul(square, two), terms);
  Value small = n.mul(n.mul(n.number(M_2_SQRTPI), bell), n.mul(a, p));
  Value fraction = a;
  for (unsigned i = 24; i > 0; --i)
    fraction = n.add(a, n.div(n.number(i * 0.5), fraction));
  Value rest = n.div(n.mul(bell, n.number(M_2_SQRTPI / 2)), fraction);
  Value large = n.sub(n.number(1), rest);
  Value value = n.select(n.less(a, 3.5), small, n.select(n.less(a, 7), large, n.number(1)));
  return n.select(n.isNan(x), x, n.withSign(value, x));
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

/// Long division: each turn subtracts a multiple of y whose factor is the quotient's first 26 bits,
/// never more than the quotient. The difference is exact.
Value weft::cuda::remainderOf(Numbers n, Value x, Value y) {
  Value a = n.abs(x), b = n.abs(y), zero = n.number(0);
  Value isDefined = arith::AndIOp::create(n.builder, n.loc, n.less(a, kInfinity), n.greater(b, 0));
  Value dividend = n.select(isDefined, a, zero);
  Value divisor = n.select(isDefined, b, n.number(1));
  auto turns = scf::WhileOp::create(
      n.builder, n.loc, TypeRange{n.builder.getF64Type()}, ValueRange{dividend},
      [&](OpBuilder &builder, Location loc, ValueRange rest) {
        Value goesOn =
            arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, rest[0], divisor);
        scf::ConditionOp::create(builder, loc, goesOn, rest);
      },
      [&](OpBuilder &builder, Location loc, ValueRange rest) {
        Numbers inner{builder, loc, n.type};
        // No quotient overflows: a multiple of the divisor will do.
        Value by = divisor;
        for (double factor : {0x1p600, 0x1p600}) {
          Value multiple = inner.mul(by, inner.number(factor));
          Value isFar =
              arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, rest[0], multiple);
          by = inner.select(isFar, multiple, by);
        }
        Value quotient = inner.bits(inner.div(rest[0], by));
        // A quotient that was rounded up may be too large.
        quotient = arith::SubIOp::create(builder, loc, quotient, inner.integer(1));
        quotient =
            arith::AndIOp::create(builder, loc, quotient, inner.integer(~((int64_t(1) << 27) - 1)));
        Value factor = inner.floor(inner.ofBits(quotient));
        // At least once: the dividend is not less than the divisor.
        factor = inner.select(inner.less(factor, 1), inner.number(1), factor);
        Value negative = inner.sub(inner.number(-0.0), factor);
        scf::YieldOp::create(builder, loc, inner.fma(negative, by, rest[0]));
      });
  Value rest = n.withSign(turns.getResult(0), x);
  Value isNumber = arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::ORD, x, y);
  isDefined = arith::AndIOp::create(n.builder, n.loc, isDefined, isNumber);
  return n.select(isDefined, rest, n.number(kNan));
}
