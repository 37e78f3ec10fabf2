// Lets ops make gradients of weights in the type in which they are added up.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/Passes.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPWIDENGRADIENTS
#include "passes/nn/step/Passes.h.inc"
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
    auto from = dyn_cast<FloatType>(elementOf(cast.getOperand())),
         to = dyn_cast<FloatType>(elementOf(cast));
    if (!isWeightGradient(cast) || !isWeightGradient(source) || source->getNumResults() != 1 ||
        !from || !to || from.getWidth() >= to.getWidth() ||
        !llvm::all_of(source->getUsers(), [&](Operation *user) {
          return isa<nn::CastOp>(user) && user->getResultTypes() == cast->getResultTypes() &&
                 isWeightGradient(user);
        }))
      return failure();
    FailureOr<Value> wide = widen(source, to, cast.getType(), rewriter);
    if (failed(wide))
      return failure();
    // Several readers may each have a cast of their own.
    for (Operation *user : llvm::make_early_inc_range(source->getUsers()))
      rewriter.replaceOp(user, *wide);
    // At once, so that what it reads has one reader when the new casts' turn comes.
    rewriter.eraseOp(source);
    return success();
  }
  /// The op's result in `type`, whose elements are `to`.
  virtual FailureOr<Value> widen(Operation *source, FloatType to, Type type,
                                 PatternRewriter &rewriter) const = 0;
};

/// Ops that may have a wide result of narrow operands, as products and casts
/// may: their verifier tells.
struct WidenResult : WideningPattern {
  using WideningPattern::WideningPattern;
  FailureOr<Value> widen(Operation *source, FloatType to, Type type,
                         PatternRewriter &rewriter) const override {
    Operation *wide = source->clone();
    wide->getResult(0).setType(type);
    if (!isValid(wide)) {
      wide->destroy();
      return failure();
    }
    rewriter.setInsertionPoint(source);
    rewriter.insert(wide);
    return wide->getResult(0);
  }

private:
  static bool isValid(Operation *op) {
    OwnDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
    return succeeded(verify(op));
  }
};

/// Ops that are linear, as sums and moves of data are, on wide operands.
struct WidenLinear : WideningPattern {
  using WideningPattern::WideningPattern;
  FailureOr<Value> widen(Operation *source, FloatType to, Type type,
                         PatternRewriter &rewriter) const override {
    auto shardable = dyn_cast<ShardableOpInterface>(source);
    Type from = elementOf(source->getResult(0));
    if (!shardable || shardable.getPartialRules(ReduceKind::Sum).empty())
      return failure();
    // A number among the attributes has the op's type, too.
    for (NamedAttribute attr : source->getAttrs())
      if (auto typed = dyn_cast<TypedAttr>(attr.getValue());
          typed && getElementTypeOrSelf(typed.getType()) == from)
        return failure();
    rewriter.setInsertionPoint(source);
    Operation *wide = rewriter.clone(*source);
    rewriter.setInsertionPoint(wide);
    for (OpOperand &operand : wide->getOpOperands())
      if (elementOf(operand.get()) == from) {
        // A constant's is one; another's is new.
        Value wider = rewriter.createOrFold<nn::CastOp>(source->getLoc(), operand.get(), to);
        if (auto made = wider.getDefiningOp<nn::CastOp>();
            made && made.getOperand() == operand.get())
          made->setAttr(nn::kRoleAttr, rewriter.getStringAttr(nn::kRoleWeightGradient));
        operand.set(wider);
      }
    wide->getResult(0).setType(type);
    return wide->getResult(0);
  }
};

struct WidenGradients : step::impl::StepWidenGradientsBase<WidenGradients> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<WidenResult>(&getContext(), /*benefit=*/2);
    patterns.add<WidenLinear>(&getContext());
    // Widening moves from casts up to products, and so ends.
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    // Other ops are left alone, which also is what takes time in a long program.
    config.enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    [[maybe_unused]] LogicalResult done =
        applyPatternsGreedily(getOperation(), std::move(patterns), config);
    assert(succeeded(done) && "there is no limit");
  }
};

} // namespace
