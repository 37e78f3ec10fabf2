// Lets gradients compute for themselves the numbers of inputs that they start from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/Roles.h"

#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTSEPARATESEEDS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// What makes `number` in its block, the last op first. Nothing, if library calls do, which are
/// dear, or loops, or the number is made for gradients alone.
SmallVector<Operation *> makersOf(Operation *number) {
  llvm::SetVector<Operation *> makers;
  makers.insert(number);
  for (size_t i = 0; i < makers.size(); ++i) {
    Operation *op = makers[i];
    auto kernel = dyn_cast<KernelOpInterface>(op);
    if (op->getNumRegions() != 0 || op->hasAttr(nn::kRoleAttr) ||
        !(kernel || isa<TransitionOpInterface>(op)) || (kernel && kernel.getLibraryCall()))
      return {};
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && maker->getNumOperands() > 0 && maker->getBlock() == number->getBlock())
        makers.insert(maker);
  }
  SmallVector<Operation *> sorted(makers.begin(), makers.end());
  llvm::sort(sorted, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  return sorted;
}

/// Gives gradients a number of their own, made by ops that nothing else reads. What communication
/// brings stays one.
void separate(Operation *number) {
  llvm::DenseSet<Operation *> own; // what makes the gradients' number
  for (Operation *op : makersOf(number)) {
    auto isForSeed = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return op == number ? isOfGradient(user) : own.contains(user);
    };
    if (isa<TransitionOpInterface>(op) || llvm::all_of(op->getUses(), isForSeed)) {
      own.insert(op);
      continue;
    }
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      Value(from).replaceUsesWithIf(to, isForSeed);
    own.insert(copy);
  }
}

/// One number of the forward pass that the loss and its gradient both read.
bool isSharedNumber(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumOperands() == 0 || op.hasAttr(nn::kRoleAttr))
    return false;
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1 &&
         llvm::any_of(op.getUsers(), isOfGradient);
}

struct SeparateSeeds : weft::rt::impl::RtSeparateSeedsBase<SeparateSeeds> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) {
      SmallVector<Operation *> numbers;
      for (Operation &op : *block)
        if (isSharedNumber(op))
          numbers.push_back(&op);
      llvm::for_each(numbers, separate);
    });
  }
};

} // namespace
