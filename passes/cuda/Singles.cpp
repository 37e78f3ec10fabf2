// The exponential and the hyperbolic tangent of f32, by the GPU's powers of two.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace weft::cuda;

/// 2^x, with a relative error below 2^-22.
static Value approximatePower(Numbers n, Value x) {
  return math::Exp2Op::create(n.builder, n.loc, x, arith::FastMathFlags::afn);
}

/// 1 / x, within one unit in the last place.
static Value approximateInverse(Numbers n, Value x) {
  return arith::DivFOp::create(n.builder, n.loc, n.number(1), x, arith::FastMathFlags::afn);
}

/// e^x = 2^k 2^f with k = round(x log2(e)), and log2(e) in two parts. k is held to exponents of
/// normal numbers, and what is beyond is left to f: so 0, subnormals and infinity come of the
/// product.
Value weft::cuda::singleExpOf(Numbers n, Value x) {
  constexpr double kHigh = 0x1.715476p0, kLow = 0x1.4ae0cp-26;
  // Its last bits count units, from the bias of exponents on.
  constexpr double kRounder = 0x1.8p23 + 127;
  Value shifted = n.fma(x, n.number(kHigh), n.number(kRounder));
  shifted = arith::MaximumFOp::create(n.builder, n.loc, shifted, n.number(kRounder - 126));
  shifted = arith::MinimumFOp::create(n.builder, n.loc, shifted, n.number(kRounder + 127));
  Value k = n.sub(shifted, n.number(kRounder));
  Value f = n.fma(x, n.number(kHigh), arith::NegFOp::create(n.builder, n.loc, k));
  f = n.fma(x, n.number(kLow), f);
  Value power = n.ofBits(arith::ShLIOp::create(n.builder, n.loc, n.bits(shifted), n.integer(23)));
  return n.mul(approximatePower(n, f), power);
}

static constexpr double kTwiceLog2E = 2.8853900817779268;

/// 1 - 2 / (e^2x + 1), and where that would lose bits the Taylor series, to x^15 (error below 1e-8
/// of the result).
Value weft::cuda::singleTanhOf(Numbers n, Value x) {
  constexpr double kSeries = 0.5;
  static constexpr double kTerms[] = {
      -1.0 / 3,         2.0 / 15,          -17.0 / 315,          62.0 / 2835,
      -1382.0 / 155925, 21844.0 / 6081075, -929569.0 / 638512875};
  Value magnitude = n.abs(x);
  Value power = approximatePower(n, n.mul(magnitude, n.number(kTwiceLog2E)));
  Value inverse = approximateInverse(n, n.add(power, n.number(1)));
  Value large = n.fma(inverse, n.number(-2), n.number(1));
  Value square = n.mul(x, x);
  Value small = n.fma(n.mul(magnitude, square), n.polynomial(square, kTerms), magnitude);
  return n.withSign(n.select(n.less(magnitude, kSeries), small, large), x);
}

/// 2 / (1 + e^-2x): far below zero, where a sum has no bits left, its error is that of rounding 2x.
Value weft::cuda::oneAndTanhOf(Numbers n, Value x) {
  Value power = approximatePower(n, n.mul(x, n.number(-kTwiceLog2E)));
  Value inverse = approximateInverse(n, n.add(power, n.number(1)));
  return n.add(inverse, inverse);
}
