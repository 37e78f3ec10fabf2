// Gathers parameters anew for the gradient ops that still read those of the forward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "passes/dist/OpQueries.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTSEPARATEPHASES
#include "passes/dist/Passes.h.inc"

namespace {

class Separator {
public:
  explicit Separator(func::FuncOp function) : block(function.getBody().front()) {}

  void run() {
    for (Operation &op : block.without_terminator())
      if (isStepOf(&op, kBackward))
        backwardSteps.push_back(&op);
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (isStepOf(&op, kForward))
        separate(&op);
  }

private:
  static bool isStepOf(Operation *op, StringRef phase) {
    auto attr = op->getAttrOfType<StringAttr>(kPhaseAttr);
    return attr && attr.getValue() == phase && isa<StepOpInterface>(op);
  }

  void separate(Operation *op) {
    SmallVector<OpOperand *> uses;
    Operation *first = nullptr;
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner();
      if (user->hasAttr(kPhaseAttr) || roleOf(user) != OpRole::Gradient)
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
    if (Operation *inner = input.getDefiningOp(); inner && isStepOf(inner, kForward))
      input = backwardOf(inner, before);
    auto *known = llvm::find_if(backwardSteps, [&](Operation *step) {
      return step->getName() == op->getName() && step->getOperand(0) == input &&
             step->getResult(0).getType() == op->getResult(0).getType();
    });
    Operation *step = known == backwardSteps.end() ? nullptr : *known;
    if (!step) {
      step = OpBuilder(before).clone(*op);
      step->setOperand(0, input);
      step->setAttr(kPhaseAttr, StringAttr::get(op->getContext(), kBackward));
      backwardSteps.push_back(step);
    } else if (before->isBeforeInBlock(step)) {
      step->moveBefore(before);
    }
    return step->getResult(0);
  }

  Block &block;
  SmallVector<Operation *> backwardSteps;
};

struct SeparatePhases : impl::DistSeparatePhasesBase<SeparatePhases> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Separator(function).run();
  }
};

} // namespace
} // namespace weft::dist
