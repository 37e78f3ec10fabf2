// Lets kernels, library calls and sums over the network overwrite what they read last.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Target.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTREUSEOPERANDS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

class Reuse {
public:
  Reuse(func::FuncOp function, KernelVariants &variants, int64_t alignment)
      : function(function), variants(variants), alignment(alignment) {
    for (auto [i, op] : llvm::enumerate(function.getBody().front()))
      position[&op] = i;
  }

  void run() {
    for (Operation &op : function.getBody().front())
      if (isa<CallOp, FusionOp>(op))
        visit(&op);
    for (Operation &op : function.getBody().front())
      for (auto [i, transition] : llvm::enumerate(transitionsOf(&op)))
        if (transition.getTransitionKind() == TransitionKind::AllReduce &&
            !isReturned(op.getResult(i)) && isReadLastBy(op.getOperand(i), &op))
          transition->setAttr(kReusesAttr, UnitAttr::get(op.getContext()));
    for (Operation &op : llvm::reverse(function.getBody().front()))
      if (auto put = dyn_cast<PutOp>(op); put && isNewState(put))
        newStates.insert(put);
    for (auto put : function.getBody().front().getOps<PutOp>())
      place(put);
  }

private:
  void visit(Operation *command) {
    auto call = dyn_cast<CallOp>(command);
    if (call && isRoutine(variants.calleeOf(call))) // says itself what it overwrites
      return;
    SmallVector<int64_t> shared = variants.sharedArguments(command);
    bool changed = false;
    for (OpResult result : command->getResults()) {
      int64_t &argument = shared[result.getResultNumber()];
      if (argument >= 0 || isReturned(result))
        continue;
      for (auto [i, operand] : llvm::enumerate(command->getOperands()))
        if (!llvm::is_contained(shared, int64_t(i)) &&
            variants.mayOverwrite(command, i, result.getResultNumber()) &&
            isReadLastBy(operand, command)) {
          argument = i;
          changed = true;
          break;
        }
    }
    if (changed)
      variants.share(command, shared);
  }

  /// Lets the routine that makes rows write them where they are put, which no other then does.
  void place(PutOp put) {
    auto isRoot = [](Operation *op) { return specKind(op) != SpecKind::View; };
    std::optional<ValueLayout> layout = layoutOf(put.getRows(), isRoot);
    Value root = layout ? layout->root : Value();
    auto call = root ? root.getDefiningOp<CallOp>() : CallOp();
    func::FuncOp callee = call ? variants.calleeOf(call) : func::FuncOp();
    auto rows = cast<RankedTensorType>(put.getRows().getType());
    int64_t start = put.getStart() * rows.getDimSize(2) * elementBytes(rows.getElementType());
    if (!callee || !isRoutine(callee) || start % alignment != 0 ||
        variants.sharedArguments(call)[cast<OpResult>(root).getResultNumber()] >= 0 ||
        (put.getInto() && !put.getInto().hasOneUse()) || newStates.contains(put))
      return;
    put->setAttr(kPlacedAttr, UnitAttr::get(put.getContext()));
    if (specKind(put) != SpecKind::Placed)
      put->removeAttr(kPlacedAttr);
  }

  /// What overwrites a state stands behind all that reads the old one; what makes its rows need
  /// not. Puts behind it are known.
  bool isNewState(PutOp put) const {
    if (!put.getResult().hasOneUse())
      return false;
    OpOperand &use = *put.getResult().use_begin();
    if (specKind(use.getOwner()) == SpecKind::End)
      return overwrittenArguments(function)[use.getOperandNumber()] != nullptr;
    return newStates.contains(use.getOwner());
  }

  static bool isReturned(Value value) {
    return llvm::any_of(value.getUsers(),
                        [](Operation *user) { return specKind(user) == SpecKind::End; });
  }

  /// The operand is made by a command, and nothing reads it after `reader`,
  /// which reads it once and whole. Communication must not be waited for.
  bool isReadLastBy(Value operand, Operation *reader) const {
    Operation *maker = operand.getDefiningOp();
    if (!maker || specKind(maker) != SpecKind::Command)
      return false;
    unsigned own = 0;
    for (const Reader &other : readersOf(operand)) {
      if (other.op == reader && other.isWhole) {
        ++own;
        continue;
      }
      SmallVector<TransitionOpInterface> transitions = variants.communicationOf(other.op);
      if (position.lookup(other.op) >= position.lookup(reader) || dist::crossesStages(other.op) ||
          (!transitions.empty() && transitions[0].isCommunication()))
        return false;
    }
    return own == 1;
  }

  func::FuncOp function;
  KernelVariants &variants;
  int64_t alignment; // of what kernels are given
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseSet<Operation *> newStates; // puts whose rows are of the new value of a state
};

struct ReuseOperands : weft::rt::impl::RtReuseOperandsBase<ReuseOperands> {
  void runOnOperation() override {
    const Target *target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    KernelVariants variants(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      Reuse(function, variants, target->traits().kernelAlignment).run();
    variants.finish(getOperation());
  }
};

} // namespace
