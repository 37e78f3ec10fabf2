// Lets attention tell its gradient what it makes the probabilities of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/Passes.h"
#include "weft/Target/Target.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPKEEPLOGSUMS
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;

namespace {

struct KeepLogSums : step::impl::StepKeepLogSumsBase<KeepLogSums> {
  using StepKeepLogSumsBase::StepKeepLogSumsBase;

  void runOnOperation() override {
    const Target *known = lookupTarget(target);
    if (!known || !known->traits().readsLogSums)
      return;
    SmallVector<nn::AttentionGradOp> gradients;
    getOperation().walk([&](nn::AttentionGradOp gradient) { gradients.push_back(gradient); });
    for (nn::AttentionGradOp gradient : gradients)
      if (Value sums = logSumsFor(*known, gradient))
        gradient.getLogSumExpMutable().assign(sums);
  }

  /// Whether the one is the other's gradient, from the same operands.
  static bool areOfOne(nn::AttentionOp attention, nn::AttentionGradOp gradient) {
    return attention.getQuery() == gradient.getQuery() && attention.getKey() == gradient.getKey() &&
           attention.getValue() == gradient.getValue() &&
           attention.getMask() == gradient.getMask() &&
           attention.getScale() == gradient.getScale() &&
           attention.getCausal() == gradient.getCausal() &&
           attention.getSoftcap() == gradient.getSoftcap();
  }

  static Value logSumsFor(const Target &target, nn::AttentionGradOp gradient) {
    auto attention = gradient.getOutput().getDefiningOp<nn::AttentionOp>();
    if (!attention || gradient.getLogSumExp() || !areOfOne(attention, gradient))
      return {};
    if (!attention.getLogSumExp())
      attention = withLogSums(target, attention);
    return attention ? attention.getLogSumExp() : Value();
  }

  /// The op with a second result in its place; null, and nothing changed, if the target has no
  /// library for that.
  static nn::AttentionOp withLogSums(const Target &target, nn::AttentionOp attention) {
    OpBuilder builder(attention);
    auto query = attention.getQuery().getType();
    auto sums = RankedTensorType::get(query.getShape().drop_back(),
                                      nn::AttentionOp::getLogSumType(query.getElementType()));
    auto made = nn::AttentionOp::create(
        builder, attention.getLoc(), attention.getResult().getType(), sums, attention.getQuery(),
        attention.getKey(), attention.getValue(), attention.getMask(), attention.getScaleAttr(),
        attention.getCausalAttr(), attention.getSoftcapAttr());
    if (!target.takesDense(made)) {
      made.erase();
      return {};
    }
    made->setDiscardableAttrs(attention->getDiscardableAttrDictionary());
    attention.getResult().replaceAllUsesWith(made.getResult());
    attention.erase();
    return made;
  }
};

} // namespace
