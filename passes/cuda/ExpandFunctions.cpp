// Functions that a GPU has no instruction for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"
#include "passes/cuda/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::cuda {
#define GEN_PASS_DEF_EXPANDFUNCTIONS
#include "passes/cuda/Passes.h.inc"
} // namespace weft::cuda

using namespace mlir;
using namespace weft::cuda;

namespace {

/// Computes an op of one or two floats in f64 and rounds the result.
template <typename Op> struct Expand : OpRewritePattern<Op> {
  using Function = Value (*)(Numbers, ValueRange);
  Expand(MLIRContext *context, Function function)
      : OpRewritePattern<Op>(context), function(function) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!isa<FloatType>(type))
      return failure();
    Location loc = op.getLoc();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          type.isF64()
              ? operand
              : arith::ExtFOp::create(rewriter, loc, rewriter.getF64Type(), operand).getResult());
    Value result = function({rewriter, loc, rewriter.getF64Type()}, operands);
    if (!type.isF64())
      result = arith::TruncFOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

  Function function;
};

/// Computes an op of an f32 in f32.
template <typename Op> struct ExpandSingle : OpRewritePattern<Op> {
  using Function = Value (*)(Numbers, Value);
  ExpandSingle(MLIRContext *context, Function function)
      : OpRewritePattern<Op>(context, /*benefit=*/2), function(function) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    rewriter.replaceOp(op,
                       function({rewriter, op.getLoc(), rewriter.getF32Type()}, op->getOperand(0)));
    return success();
  }

  Function function;
};

/// 1 + tanh(x), as 2 / (1 + e^-2x): that it is what is left of a difference counts no longer, nor
/// where the tangent is small.
struct ExpandOneAndTangent : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    for (auto [one, other] : {std::pair(op.getLhs(), op.getRhs()), {op.getRhs(), op.getLhs()}}) {
      auto tangent = other.getDefiningOp<math::TanhOp>();
      if (!tangent || !op.getType().isF32() || !matchPattern(one, m_OneFloat()))
        continue;
      rewriter.replaceOp(
          op, oneAndTanhOf({rewriter, op.getLoc(), rewriter.getF32Type()}, tangent.getOperand()));
      return success();
    }
    return failure();
  }
};

/// 1 - tanh(x)^2, as s (2 - s) with s = 1 + tanh(x).
struct ExpandOneLessSquare : OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SubFOp op, PatternRewriter &rewriter) const override {
    auto square = op.getRhs().getDefiningOp<arith::MulFOp>();
    auto tangent = square && square.getLhs() == square.getRhs()
                       ? square.getLhs().getDefiningOp<math::TanhOp>()
                       : math::TanhOp();
    if (!tangent || !op.getType().isF32() || !matchPattern(op.getLhs(), m_OneFloat()))
      return failure();
    Numbers n{rewriter, op.getLoc(), rewriter.getF32Type()};
    Value sum = oneAndTanhOf(n, tangent.getOperand());
    rewriter.replaceOp(op, n.mul(sum, n.sub(n.number(2), sum)));
    return success();
  }
};

/// A function of one number.
template <Value (*function)(Numbers, Value)> Value unary(Numbers n, ValueRange operands) {
  return function(n, operands[0]);
}
template <Value (*function)(Numbers, Value, Value)> Value binary(Numbers n, ValueRange operands) {
  return function(n, operands[0], operands[1]);
}

struct ExpandFunctions : weft::cuda::impl::ExpandFunctionsBase<ExpandFunctions> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<Expand<math::AcosOp>>(context, unary<acosOf>);
    patterns.add<Expand<math::AcoshOp>>(context, unary<acoshOf>);
    patterns.add<Expand<math::AsinOp>>(context, unary<asinOf>);
    patterns.add<Expand<math::AsinhOp>>(context, unary<asinhOf>);
    patterns.add<Expand<math::AtanOp>>(context, unary<atanOf>);
    patterns.add<Expand<math::Atan2Op>>(context, binary<atan2Of>);
    patterns.add<Expand<math::AtanhOp>>(context, unary<atanhOf>);
    patterns.add<Expand<math::CosOp>>(context, unary<cosOf>);
    patterns.add<Expand<math::CoshOp>>(context, unary<coshOf>);
    patterns.add<Expand<math::ErfOp>>(context, unary<erfOf>);
    patterns.add<Expand<math::ExpOp>>(context, unary<expOf>);
    patterns.add<Expand<math::ExpM1Op>>(context, unary<expm1Of>);
    patterns.add<Expand<math::LogOp>>(context, unary<logOf>);
    patterns.add<Expand<math::Log1pOp>>(context, unary<log1pOf>);
    patterns.add<Expand<math::PowFOp>>(context, binary<powOf>);
    patterns.add<Expand<math::SinOp>>(context, unary<sinOf>);
    patterns.add<Expand<math::SinhOp>>(context, unary<sinhOf>);
    patterns.add<Expand<math::TanOp>>(context, unary<tanOf>);
    patterns.add<Expand<math::TanhOp>>(context, unary<tanhOf>);
    patterns.add<Expand<arith::RemFOp>>(context, binary<remainderOf>);
    patterns.add<ExpandSingle<math::ExpOp>>(context, singleExpOf);
    patterns.add<ExpandSingle<math::TanhOp>>(context, singleTanhOf);
    patterns.add<ExpandOneAndTangent, ExpandOneLessSquare>(context);
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
