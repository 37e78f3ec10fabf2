// Polynomials for f32 functions, integer arithmetic for bf16.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/kernels/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <limits>

namespace weft::kernels {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/kernels/Passes.h.inc"
} // namespace weft::kernels

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

  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32())
      return failure();
    Location loc = op.getLoc();
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(value));
    };
    auto integer = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(value));
    };
    auto fma = [&](Value a, Value b, Value c) -> Value {
      return math::FmaOp::create(rewriter, loc, a, b, c);
    };
    auto clamp = [&](Value value, arith::CmpFPredicate outside, double bound) {
      Value limit = number(bound);
      Value isOut = arith::CmpFOp::create(rewriter, loc, outside, value, limit);
      return arith::SelectOp::create(rewriter, loc, isOut, limit, value).getResult();
    };
    // Beyond the bounds, the result is 0 and infinity.
    Value x = clamp(op.getOperand(), arith::CmpFPredicate::OLT, -104.5);
    x = clamp(x, arith::CmpFPredicate::OGT, 89.5);
    Value n = math::RoundEvenOp::create(
        rewriter, loc, arith::MulFOp::create(rewriter, loc, x, number(1.4426950408889634)));
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
    Value isNan = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO, op.getOperand(),
                                        op.getOperand());
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNan, op.getOperand(), p);
    return success();
  }
};

/// MLIR's polynomial takes what is below the least normal number for that: log(x) is
/// log(2^24 x) - 24 ln 2 there.
struct ScaleSubnormalLog : OpRewritePattern<math::LogOp> {
  explicit ScaleSubnormalLog(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  static constexpr llvm::StringLiteral kIsNormal = "weft.is_normal";

  LogicalResult matchAndRewrite(math::LogOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() || op->hasAttr(kIsNormal))
      return failure();
    Location loc = op.getLoc();
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(value));
    };
    Value x = op.getOperand();
    Value isSmall = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OLT, x,
                                          number(std::numeric_limits<float>::min()));
    Value factor = arith::SelectOp::create(rewriter, loc, isSmall, number(0x1p24), number(1));
    Value offset = arith::SelectOp::create(rewriter, loc, isSmall, number(-24 * M_LN2), number(0));
    auto log = math::LogOp::create(rewriter, loc, arith::MulFOp::create(rewriter, loc, x, factor));
    log->setDiscardableAttr(kIsNormal, rewriter.getUnitAttr());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, log, offset);
    return success();
  }
};

Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

bool isBFloat16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// What computes in bf16 computes in a wider type and rounds once. Integers
/// beyond f32's 24 bits go by f64; those of 64 bits have a pattern of their own.
struct ComputeBFloat16Wider : RewritePattern {
  explicit ComputeBFloat16Wider(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  /// These move bits; the casts are expanded below.
  static bool needsNoArithmetic(Operation *op) {
    return isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::TruncFOp,
               arith::ExtFOp>(op);
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_present<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
        needsNoArithmetic(op) ||
        (llvm::none_of(op->getOperandTypes(), isBFloat16) &&
         llvm::none_of(op->getResultTypes(), isBFloat16)))
      return failure();
    Type wide = rewriter.getF32Type();
    for (Type type : op->getOperandTypes())
      if (auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
          integer && integer.getWidth() > 24 && isBFloat16(op->getResult(0).getType()))
        wide = rewriter.getF64Type();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Type type = operand.getType();
      operands.push_back(isBFloat16(type) ? arith::ExtFOp::create(rewriter, op->getLoc(),
                                                                  withElement(type, wide), operand)
                                                .getResult()
                                          : operand);
    }
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(isBFloat16(type) ? withElement(type, wide) : type);
    OperationState state(op->getLoc(), op->getName(), operands, types,
                         op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *computed = rewriter.create(state);
    SmallVector<Value> results;
    for (auto [value, type] : llvm::zip_equal(computed->getResults(), op->getResultTypes()))
      results.push_back(
          isBFloat16(type)
              ? arith::TruncFOp::create(rewriter, op->getLoc(), type, value).getResult()
              : value);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// 64-bit integers to bf16. Those beyond 2^53, which f64 does not hold, are rounded to odd to a
/// multiple of 2^11 first, which leaves at most 53 bits: then the way by f64 rounds once, too.
template <typename Op, typename Shift> struct ConvertLongToBFloat16 : OpRewritePattern<Op> {
  explicit ConvertLongToBFloat16(MLIRContext *context)
      : OpRewritePattern<Op>(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Value x = op.getIn();
    Type type = x.getType();
    if (!isBFloat16(op.getType()) || !getElementTypeOrSelf(type).isInteger(64))
      return failure();
    Location loc = op.getLoc();
    auto integer = [&](int64_t value) -> Value {
      TypedAttr attribute = rewriter.getI64IntegerAttr(value);
      if (auto shaped = dyn_cast<ShapedType>(type))
        attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
      return arith::ConstantOp::create(rewriter, loc, type, attribute);
    };
    constexpr int64_t kCut = 11, kHeld = int64_t(1) << 53;
    constexpr bool isSigned = std::is_same_v<Op, arith::SIToFPOp>;
    Value low = arith::AndIOp::create(rewriter, loc, x, integer((1 << kCut) - 1));
    Value isInexact =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, low, integer(0));
    Value sticky = arith::ExtUIOp::create(rewriter, loc, type, isInexact);
    Value high = Shift::create(rewriter, loc, x, integer(kCut));
    Value odd = arith::OrIOp::create(rewriter, loc, high, sticky);
    Value rounded = arith::ShLIOp::create(rewriter, loc, odd, integer(kCut));
    // From -2^53 on, or from 0 on: one comparison of unsigned numbers.
    Value fromLeast =
        isSigned ? arith::AddIOp::create(rewriter, loc, x, integer(kHeld)).getResult() : x;
    Value isHeld = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, fromLeast,
                                         integer(isSigned ? 2 * kHeld : kHeld));
    Value held = arith::SelectOp::create(rewriter, loc, isHeld, x, rounded);
    Value wide = Op::create(rewriter, loc, withElement(type, rewriter.getF64Type()), held);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

/// f64 to bf16 by f32 rounded to odd: inexact results get an odd last bit, so
/// that the second rounding does not take them for a tie.
struct RoundDoubleToBFloat16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Value from = op.getIn();
    if (!isBFloat16(op.getType()) || !getElementTypeOrSelf(from.getType()).isF64())
      return failure();
    Location loc = op.getLoc();
    Type single = withElement(from.getType(), rewriter.getF32Type());
    Type word = withElement(from.getType(), rewriter.getI32Type());
    auto integer = [&](int32_t value) -> Value {
      TypedAttr attribute = rewriter.getI32IntegerAttr(value);
      if (auto shaped = dyn_cast<ShapedType>(word))
        attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
      return arith::ConstantOp::create(rewriter, loc, word, attribute);
    };
    auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
      return arith::CmpFOp::create(rewriter, loc, predicate, a, b);
    };
    Value nearest = arith::TruncFOp::create(rewriter, loc, single, from);
    Value back = arith::ExtFOp::create(rewriter, loc, from.getType(), nearest);
    Value bits = arith::BitcastOp::create(rewriter, loc, word, nearest);
    // Towards zero, where it was rounded away; one less is the next smaller
    // magnitude, of infinity too.
    Value isBeyond = compare(arith::CmpFPredicate::OGT, math::AbsFOp::create(rewriter, loc, back),
                             math::AbsFOp::create(rewriter, loc, from));
    Value smaller = arith::SubIOp::create(rewriter, loc, bits, integer(1));
    Value truncated = arith::SelectOp::create(rewriter, loc, isBeyond, smaller, bits);
    Value odd = arith::OrIOp::create(rewriter, loc, truncated, integer(1));
    // Ordered: a NaN stays the NaN that it is.
    Value isInexact = compare(arith::CmpFPredicate::ONE, back, from);
    Value settled = arith::SelectOp::create(rewriter, loc, isInexact, odd, bits);
    Value result = arith::BitcastOp::create(rewriter, loc, single, settled);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), result);
    return success();
  }
};

/// bf16 to f64 by f32, which is exact.
struct ExtendBFloat16ToDouble : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType();
    if (!isBFloat16(from) || !getElementTypeOrSelf(op.getType()).isF64())
      return failure();
    Value single = arith::ExtFOp::create(rewriter, op.getLoc(),
                                         withElement(from, rewriter.getF32Type()), op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), single);
    return success();
  }
};

struct ExpandMath : weft::kernels::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [&](StringRef name) {
      return llvm::is_contained({"math.expm1", "math.log", "math.log1p", "math.erf"}, name) ||
             (name == "math.tanh" && !keepExponentials);
    });
    if (!keepExponentials)
      patterns.add<ExpandExp>(&getContext());
    patterns.add<ScaleSubnormalLog, ComputeBFloat16Wider, RoundDoubleToBFloat16,
                 ExtendBFloat16ToDouble, ConvertLongToBFloat16<arith::SIToFPOp, arith::ShRSIOp>,
                 ConvertLongToBFloat16<arith::UIToFPOp, arith::ShRUIOp>>(&getContext());
    if (!keepBFloat16Casts)
      arith::populateExpandBFloat16Patterns(patterns);
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
