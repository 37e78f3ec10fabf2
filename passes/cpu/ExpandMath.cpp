// Polynomials for f32 functions, integer arithmetic for bf16.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::cpu {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

/// exp of f32 with the limits that masking relies on: exp(-inf) is 0, large
/// values give infinity, NaN stays.
///
/// exp(x) = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2, and e^r by its
/// Taylor polynomial of degree 7 (error below 5e-9). 2^n is multiplied in two
/// halves, because n may pass the range of exponents.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32())
      return failure();
    Location loc = op.getLoc();
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(rewriter, loc,
                                       rewriter.getF32FloatAttr(value));
    };
    auto integer = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(rewriter, loc,
                                       rewriter.getI32IntegerAttr(value));
    };
    auto fma = [&](Value a, Value b, Value c) -> Value {
      return math::FmaOp::create(rewriter, loc, a, b, c);
    };
    auto clamp = [&](Value value, arith::CmpFPredicate outside, double bound) {
      Value limit = number(bound);
      Value isOut = arith::CmpFOp::create(rewriter, loc, outside, value, limit);
      return arith::SelectOp::create(rewriter, loc, isOut, limit, value)
          .getResult();
    };
    // Beyond the bounds, the result is 0 and infinity.
    Value x = clamp(op.getOperand(), arith::CmpFPredicate::OLT, -104.5);
    x = clamp(x, arith::CmpFPredicate::OGT, 89.5);
    Value n = math::RoundEvenOp::create(
        rewriter, loc,
        arith::MulFOp::create(rewriter, loc, x, number(1.4426950408889634)));
    // ln 2 in two parts, the first with few enough bits that n times it is
    // exact.
    Value r = fma(n, number(-0.693359375), x);
    r = fma(n, number(2.1219444005469058e-4), r);
    Value p = number(1.0 / 5040);
    for (double factorial : {720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
      p = fma(p, r, number(1 / factorial));
    Type i32 = rewriter.getI32Type();
    Value exponent = arith::FPToSIOp::create(rewriter, loc, i32, n);
    Value half = arith::ShRSIOp::create(rewriter, loc, exponent, integer(1));
    Value rest = arith::SubIOp::create(rewriter, loc, exponent, half);
    for (Value part : {half, rest}) {
      Value biased = arith::AddIOp::create(rewriter, loc, part, integer(127));
      Value bits = arith::ShLIOp::create(rewriter, loc, biased, integer(23));
      Value power = arith::BitcastOp::create(rewriter, loc, type, bits);
      p = arith::MulFOp::create(rewriter, loc, p, power);
    }
    // The conversion to an integer is undefined for NaN.
    Value isNan =
        arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO,
                              op.getOperand(), op.getOperand());
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNan, op.getOperand(), p);
    return success();
  }
};

struct ExpandMath : weft::cpu::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained(
          {"math.expm1", "math.log", "math.log1p", "math.tanh", "math.erf"},
          name);
    });
    patterns.add<ExpandExp>(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
