// Copies each new value of a state into it at the end of its program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTMATERIALIZEUPDATES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Each result that updates a state names one of its type, and no two the same.
LogicalResult verifyUpdates(func::FuncOp function, ArrayRef<BlockArgument> states) {
  Operation *end = function.getBody().front().getTerminator();
  llvm::DenseMap<Attribute, Value> updated;
  for (auto [i, state, value] : llvm::enumerate(states, end->getOperands())) {
    StringAttr name = nn::updatedState(function, i);
    if (!name)
      continue;
    if (!state)
      return function.emitError() << "updates " << name << ", which is no state of it";
    if (state.getType() != value.getType()) {
      auto diagnostic = function.emitError() << "updates " << name << " of type " << state.getType()
                                             << " with a value of type " << value.getType();
      diagnostic.attachNote(value.getLoc()) << "the value is made here";
      return diagnostic;
    }
    auto [first, isFirst] = updated.try_emplace(name, value);
    if (!isFirst) {
      auto diagnostic = function.emitError() << "updates " << name << " twice";
      diagnostic.attachNote(first->second.getLoc()) << "its first new value is made here";
      diagnostic.attachNote(value.getLoc()) << "its second new value is made here";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult materialize(func::FuncOp function) {
  SmallVector<BlockArgument> overwritten = overwrittenArguments(function);
  if (failed(verifyUpdates(function, overwritten)))
    return failure();
  auto isOverwritable = [&](BlockArgument argument) {
    return isRoutine(function) ? llvm::is_contained(overwritten, argument)
                               : nn::isState(function, argument.getArgNumber());
  };
  Operation *end = function.getBody().front().getTerminator();
  OpBuilder builder(end);
  SmallVector<std::pair<OpOperand *, bool>> updates; // and whether it is another state's old value
  for (OpOperand &result : end->getOpOperands()) {
    BlockArgument state = overwritten[result.getOperandNumber()];
    if (!state)
      continue;
    auto copy = result.get().getDefiningOp<DenseOp>();
    if (result.get() == state || (copy && copy.getOperand() == state)) {
      // Unchanged; a copy that fusing made for outputs goes.
      result.set(state);
      if (copy && copy->use_empty())
        copy.erase();
      continue;
    }
    auto root = dyn_cast<BlockArgument>(specLayout(copy ? copy.getOperand() : result.get()).root);
    updates.push_back({&result, root && isOverwritable(root)});
  }
  for (auto &[result, isOldState] : updates)
    if (isOldState)
      result->set(
          DenseOp::create(builder, result->get().getLoc(), result->get().getType(), result->get()));
  for (auto &[result, isOldState] : updates)
    result->set(
        DenseOp::create(builder, result->get().getLoc(), result->get().getType(), result->get()));
  return success();
}

struct MaterializeUpdates : weft::rt::impl::RtMaterializeUpdatesBase<MaterializeUpdates> {
  void runOnOperation() override {
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      if (failed(verifyViews(function.getBody().front())) || failed(materialize(function)))
        return signalPassFailure();
  }
};

} // namespace
