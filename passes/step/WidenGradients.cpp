// Lets ops make gradients of weights in the type in which they are added up.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/step/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPWIDENGRADIENTS
#include "passes/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;

static bool isWeightGradient(Operation *op) {
  auto role = op ? op->getAttrOfType<StringAttr>(nn::kRoleAttr) : StringAttr();
  return role && role.getValue() == nn::kRoleWeightGradient;
}

static Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

namespace {

/// A cast of a weight's gradient to a wider float, and what makes its operand.
struct WideningPattern : OpRewritePattern<nn::CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::CastOp cast, PatternRewriter &rewriter) const final {
    Operation *source = cast.getOperand().getDefiningOp();
    auto from = dyn_cast<FloatType>(elementOf(cast.getOperand())), to = dyn_cast<FloatType>(elementOf(cast));
    if (!isWeightGradient(cast) || !isWeightGradient(source) || !source->hasOneUse() || source->getNumResults() != 1 ||
        !from || !to || from.getWidth() >= to.getWidth())
      return failure();
    return widen(source, to, cast, rewriter);
  }
  virtual LogicalResult widen(Operation *source, FloatType to, nn::CastOp cast, PatternRewriter &rewriter) const = 0;
};

/// A number that was wide before it was rounded.
struct OmitRounding : WideningPattern {
  using WideningPattern::WideningPattern;
  LogicalResult widen(Operation *source, FloatType to, nn::CastOp cast, PatternRewriter &rewriter) const override {
    auto narrow = dyn_cast<nn::CastOp>(source);
    if (!narrow || elementOf(narrow.getOperand()) != to)
      return failure();
    rewriter.replaceOp(cast, narrow.getOperand());
    return success();
  }
};

/// A product of small operands may have a wide result.
struct WidenContract : WideningPattern {
  using WideningPattern::WideningPattern;
  LogicalResult widen(Operation *source, FloatType to, nn::CastOp cast, PatternRewriter &rewriter) const override {
    auto contract = dyn_cast<nn::ContractOp>(source);
    if (!contract)
      return failure();
    rewriter.setInsertionPoint(contract);
    Operation *wide = rewriter.clone(*contract);
    wide->getResult(0).setType(cast.getType());
    rewriter.replaceOp(cast, wide->getResult(0));
    return success();
  }
};

/// Any other op that is linear, as sums and moves of data are, on wide operands.
struct WidenLinear : WideningPattern {
  using WideningPattern::WideningPattern;
  LogicalResult widen(Operation *source, FloatType to, nn::CastOp cast, PatternRewriter &rewriter) const override {
    auto shardable = dyn_cast<ShardableOpInterface>(source);
    Type from = elementOf(source->getResult(0));
    if (!shardable || isa<nn::ContractOp, nn::CastOp>(source) || shardable.getPartialRules(ReduceKind::Sum).empty())
      return failure();
    // A number among the attributes has the op's type, too.
    for (NamedAttribute attr : source->getAttrs())
      if (auto typed = dyn_cast<TypedAttr>(attr.getValue()); typed && getElementTypeOrSelf(typed.getType()) == from)
        return failure();
    rewriter.setInsertionPoint(source);
    Operation *wide = rewriter.clone(*source);
    rewriter.setInsertionPoint(wide);
    for (OpOperand &operand : wide->getOpOperands())
      if (elementOf(operand.get()) == from) {
        auto operandCast = nn::CastOp::create(rewriter, source->getLoc(), operand.get(), to);
        operandCast->setAttr(nn::kRoleAttr, rewriter.getStringAttr(nn::kRoleWeightGradient));
        operand.set(operandCast);
      }
    wide->getResult(0).setType(cast.getType());
    rewriter.replaceOp(cast, wide->getResult(0));
    return success();
  }
};

struct WidenGradients : step::impl::StepWidenGradientsBase<WidenGradients> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<OmitRounding, WidenContract, WidenLinear>(&getContext());
    // Widening moves from casts up to products, a pattern at a time; sums over
    // many layers make a long way, more than the ten rounds of the default.
    GreedyRewriteConfig config;
    config.setMaxIterations(1000);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
