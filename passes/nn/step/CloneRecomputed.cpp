// Recomputes marked values of the forward pass where the backward pass reads them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPCLONERECOMPUTED
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;

namespace {

class Cloner {
public:
  explicit Cloner(func::FuncOp function) : body(function.getBody().front()) {
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isBackward(op))
        backward.insert(&op);
  }

  void run() {
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (backward.contains(&op))
        for (OpOperand &operand : op.getOpOperands())
          operand.set(recomputed(operand.get(), &op));
    // Marked ops that only the backward pass read.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
      if (op.hasAttr(nn::kRecomputeAttr) && isOpTriviallyDead(&op))
        op.erase();
      else
        op.removeAttr(nn::kRecomputeAttr);
    }
  }

private:
  /// Ops between programs' ops (collectives) have no role; those that only serve
  /// the backward pass belong to it.
  bool isBackward(Operation &op) {
    if (op.hasAttr(nn::kRoleAttr))
      return true;
    return !op.hasAttr(nn::kRecomputeAttr) && !op.use_empty() &&
           llvm::all_of(op.getUsers(), [&](Operation *user) { return backward.contains(user); });
  }

  /// The value as the backward pass reads it, from `before` on.
  Value recomputed(Value value, Operation *before) {
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasAttr(nn::kRecomputeAttr))
      return value;
    if (Value known = clones.lookupOrNull(value))
      return known;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(asBackwardHasIt(recomputed(operand, before), before));
    OpBuilder builder(before);
    Operation *clone = builder.clone(*op);
    clone->setOperands(operands);
    clone->removeAttr(nn::kRecomputeAttr);
    clone->setAttr(nn::kRoleAttr, builder.getStringAttr(nn::kRoleInputGradient));
    clones.map(op->getResults(), clone->getResults());
    return clones.lookup(value);
  }

  /// A weight that the backward pass gathers for itself is not kept gathered from
  /// the forward pass on: the clone reads the backward pass's own, made earlier.
  Value asBackwardHasIt(Value value, Operation *before) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() == 0 || op->getNumResults() != 1 || backward.contains(op) ||
        !llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>))
      return value;
    for (Operation *twin : op->getOperand(0).getUsers())
      if (backward.contains(twin) && twin->getName() == op->getName() &&
          twin->getOperands() == op->getOperands() &&
          twin->getResultTypes() == op->getResultTypes() &&
          twin->getPropertiesAsAttribute() == op->getPropertiesAsAttribute()) {
        if (before->isBeforeInBlock(twin))
          twin->moveBefore(before);
        return twin->getResult(0);
      }
    return value;
  }

  Block &body;
  llvm::DenseSet<Operation *> backward;
  IRMapping clones;
};

struct CloneRecomputed : step::impl::StepCloneRecomputedBase<CloneRecomputed> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      Cloner(getOperation()).run();
  }
};

} // namespace
