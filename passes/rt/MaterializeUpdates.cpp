// Copies each new value of a state into it at the end of its program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/CommandBuilder.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTMATERIALIZEUPDATES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// The argument that holds state `name`.
BlockArgument stateArgument(func::FuncOp function, StringAttr name) {
  for (BlockArgument arg : function.getArguments())
    if (nn::isState(function, arg.getArgNumber()) &&
        function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), nn::kNameAttr) == name)
      return arg;
  return nullptr;
}

LogicalResult materialize(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  OpBuilder builder(end);
  llvm::DenseSet<Attribute> updated;
  SmallVector<std::pair<OpOperand *, bool>> updates; // and whether it is another state's old value
  for (OpOperand &result : end->getOpOperands()) {
    StringAttr name = nn::updatedState(function, result.getOperandNumber());
    if (!name)
      continue;
    BlockArgument state = stateArgument(function, name);
    if (!state)
      return function.emitError() << "updates " << name << ", which is no state of it";
    if (state.getType() != result.get().getType())
      return function.emitError() << "updates " << name << " of type " << state.getType()
                                  << " with a value of type " << result.get().getType();
    if (!updated.insert(name).second)
      return function.emitError() << "updates " << name << " twice";
    auto copy = result.get().getDefiningOp<DenseOp>();
    if (result.get() == state || (copy && copy.getOperand() == state)) {
      // Unchanged; a copy that fusing made for outputs goes.
      result.set(state);
      if (copy && copy->use_empty())
        copy.erase();
      continue;
    }
    auto root = dyn_cast<BlockArgument>(specLayout(copy ? copy.getOperand() : result.get()).root);
    updates.push_back({&result, root && nn::isState(function, root.getArgNumber())});
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
    for (func::FuncOp function : programsOf(getOperation()))
      if (failed(materialize(function)))
        return signalPassFailure();
  }
};

} // namespace
