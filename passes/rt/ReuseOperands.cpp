// Lets kernels, library calls and sums over the network overwrite what they read last.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/CommandBuilder.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"

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
  Reuse(func::FuncOp function, KernelVariants &variants) : function(function), variants(variants) {
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
      if (position.lookup(other.op) >= position.lookup(reader) ||
          (!transitions.empty() && transitions[0].isCommunication()))
        return false;
    }
    return own == 1;
  }

  func::FuncOp function;
  KernelVariants &variants;
  llvm::DenseMap<Operation *, int64_t> position;
};

struct ReuseOperands : weft::rt::impl::RtReuseOperandsBase<ReuseOperands> {
  void runOnOperation() override {
    KernelVariants variants(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      Reuse(function, variants).run();
    variants.finish(getOperation());
  }
};

} // namespace
