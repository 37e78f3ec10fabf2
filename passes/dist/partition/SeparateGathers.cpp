// Gathers parameters anew for the gradient ops that still read those of the forward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "passes/dist/OpQueries.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTSEPARATEGATHERS
#include "passes/dist/Passes.h.inc"

namespace {

class Separator {
public:
  explicit Separator(func::FuncOp function) : block(function.getBody().front()) {}

  void run() {
    for (Operation &op : block.without_terminator())
      if (isTransitionOf(&op, kBackward))
        backwardTransitions.push_back(&op);
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (isTransitionOf(&op, kForward))
        separate(&op);
  }

private:
  static bool isTransitionOf(Operation *op, StringRef part) {
    auto attr = op->getAttrOfType<StringAttr>(kStepPartAttr);
    return attr && attr.getValue() == part && isa<TransitionOpInterface>(op);
  }

  void separate(Operation *op) {
    SmallVector<OpOperand *> uses;
    Operation *first = nullptr;
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      if (user->hasAttr(kStepPartAttr) || roleOf(user) != OpRole::Gradient)
        continue;
      uses.push_back(&use);
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    if (uses.empty())
      return;
    Value again = backwardOf(op, first);
    for (OpOperand *use : uses)
      use->set(again);
  }

  /// What `op` makes, made for gradients, in front of `before` at the latest.
  Value backwardOf(Operation *op, Operation *before) {
    Value input = op->getOperand(0);
    if (Operation *inner = input.getDefiningOp(); inner && isTransitionOf(inner, kForward))
      input = backwardOf(inner, before);
    auto *known = llvm::find_if(backwardTransitions, [&](Operation *transition) {
      return transition->getName() == op->getName() && transition->getOperand(0) == input &&
             transition->getResult(0).getType() == op->getResult(0).getType();
    });
    Operation *transition = known == backwardTransitions.end() ? nullptr : *known;
    if (!transition) {
      transition = OpBuilder(before).clone(*op);
      transition->setOperand(0, input);
      transition->setAttr(kStepPartAttr, StringAttr::get(op->getContext(), kBackward));
      backwardTransitions.push_back(transition);
    } else if (before->isBeforeInBlock(transition)) {
      transition->moveBefore(before);
    }
    return transition->getResult(0);
  }

  Block &block;
  SmallVector<Operation *> backwardTransitions;
};

struct SeparateGathers : impl::DistSeparateGathersBase<SeparateGathers> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Separator(function).run();
  }
};

} // namespace
} // namespace weft::dist
