// Gives every node its own copy of what depends on positions only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace weft::nn {
#define GEN_PASS_DEF_NNCLONEPOSITIONS
#include "passes/nn/Passes.h.inc"
} // namespace weft::nn

using namespace mlir;
using namespace weft;

namespace {

class Cloner {
public:
  explicit Cloner(Block &body) : body(body) {
    for (Operation &op : body.without_terminator())
      if (op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
          llvm::all_of(op.getOperands(),
                       [&](Value value) { return positional.contains(value.getDefiningOp()); }))
        positional.insert(&op);
  }

  void run() {
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (!positional.contains(&op))
        for (OpOperand &operand : op.getOpOperands())
          operand.set(ownCopy(operand.get(), &op));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (positional.contains(&op) && isOpTriviallyDead(&op)) {
        positional.erase(&op);
        op.erase();
      }
  }

private:
  /// Constants and counters need no copy, nor do values of ops that are no
  /// kernels.
  Value ownCopy(Value value, Operation *user) {
    Operation *op = value.getDefiningOp();
    if (!positional.contains(op) || op->getNumOperands() == 0 || !isa<KernelOpInterface>(op))
      return value;
    // Ops of one node, and of its gradient, share their copy.
    Location place = user->getLoc();
    auto node = place->findInstanceOf<NameLoc>();
    IRMapping &copies = copiesOf[node ? Location(node) : place];
    if (Value known = copies.lookupOrNull(value))
      return known;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(ownCopy(operand, user));
    Operation *copy = OpBuilder(user).clone(*op);
    copy->setOperands(operands);
    copies.map(op->getResults(), copy->getResults());
    return copies.lookup(value);
  }

  Block &body;
  llvm::DenseSet<Operation *> positional;
  llvm::DenseMap<Location, IRMapping> copiesOf;
};

struct ClonePositions : nn::impl::NnClonePositionsBase<ClonePositions> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.isExternal())
      Cloner(function.getBody().front()).run();
  }
};

} // namespace
