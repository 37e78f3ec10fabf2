// Programs of fewer of the blocks that repeat: what a block costs shows in two of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/KeepBlocks.h"

#include "dialects/nn/IR/NnProgram.h"
#include "passes/nn/step/ForwardPass.h"
#include "passes/nn/step/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPKEEPBLOCKS
#include "passes/nn/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;
using namespace weft::step;

namespace {

class Line {
public:
  explicit Line(func::FuncOp function) : forward(function), ends(forward.repeatedBorders()) {
    for (auto [number, op] : llvm::enumerate(forward.ops()))
      position[op] = number;
  }

  int64_t count() const { return int64_t(ends.size()) - 1; }
  /// Of the value that block `number` makes; -1: what the first one reads.
  const ForwardPass::Cut &border(int64_t number) const { return ends[size_t(number + 1)]; }

  bool isChain() const {
    if (count() < 2)
      return false;
    for (int64_t block = 0; block < count(); ++block)
      if (border(block).value.getType() != border(-1).value.getType())
        return false;
    // Up to the last block nothing but its border leaves it.
    for (size_t i = border(-1).position + 1; i <= border(count() - 1).position; ++i)
      for (Value result : forward.ops()[i]->getResults())
        if (!isLocal(i, result))
          return false;
    return true;
  }

  /// Of a state, or what is made of states alone.
  unsigned partsOf(Value value) {
    if (auto known = partsKnown.find(value); known != partsKnown.end())
      return known->second;
    unsigned parts = 0;
    for (Operation *user : value.getUsers())
      if (auto found = position.find(user); found != position.end())
        parts |= found->second <= border(-1).position            ? Part::Before
                 : found->second <= border(count() - 1).position ? Part::Within
                                                                 : Part::Behind;
      else
        for (Value result : user->getResults())
          parts |= partsOf(result);
    partsKnown[value] = parts;
    return parts;
  }

  /// What reads the last block reads block `keep - 1` instead; the rest goes.
  void keep(int64_t keep) {
    size_t last = border(count() - 1).position;
    Value(border(count() - 1).value).replaceUsesWithIf(border(keep - 1).value, [&](OpOperand &use) {
      auto found = position.find(use.getOwner());
      return found == position.end() || found->second > last;
    });
    Block &body = *forward.ops().front()->getBlock();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

private:
  size_t blockOf(size_t op) const {
    size_t block = 0;
    while (op > border(int64_t(block)).position)
      ++block;
    return block;
  }

  bool isLocal(size_t op, Value result) const {
    size_t block = blockOf(op);
    bool isBorder = result == border(int64_t(block)).value;
    return llvm::all_of(result.getUsers(), [&](Operation *user) {
      auto found = position.find(user);
      if (found == position.end() || found->second > border(count() - 1).position)
        return isBorder && block + 1 == size_t(count());
      size_t reader = blockOf(found->second);
      return reader == block || (isBorder && reader == block + 1);
    });
  }

  ForwardPass forward;
  SmallVector<ForwardPass::Cut> ends;
  llvm::DenseMap<Operation *, size_t> position;
  llvm::DenseMap<Value, unsigned> partsKnown;
};

struct KeepBlocks : step::impl::StepKeepBlocksBase<KeepBlocks> {
  using StepKeepBlocksBase::StepKeepBlocksBase;

  void runOnOperation() override {
    FailureOr<Blocks> blocks = findBlocks(getOperation());
    if (failed(blocks) || blocks->count <= int64_t(keep))
      return markAllAnalysesPreserved();
    if (keep == 0 || failed(keepBlocks(getOperation(), keep))) {
      getOperation().emitError() << "of " << blocks->count << " blocks " << int64_t(keep)
                                 << " cannot be kept; keep one at least";
      signalPassFailure();
    }
  }
};

} // namespace

FailureOr<Blocks> step::findBlocks(func::FuncOp function) {
  if (function.isExternal())
    return failure();
  Line line(function);
  if (!line.isChain())
    return failure();
  Blocks blocks;
  blocks.count = line.count();
  blocks.border = cast<RankedTensorType>(line.border(0).value.getType());
  for (BlockArgument argument : function.getArguments())
    if (nn::isState(function, argument.getArgNumber()))
      blocks.partsOf[nn::argumentName(function, argument.getArgNumber())] = line.partsOf(argument);
  return blocks;
}

LogicalResult step::keepBlocks(func::FuncOp function, int64_t keep) {
  if (function.isExternal() || keep < 1)
    return failure();
  {
    Line line(function);
    if (!line.isChain() || keep > line.count())
      return failure();
    if (keep == line.count())
      return success();
    line.keep(keep);
  }
  llvm::BitVector unread(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && nn::isState(function, argument.getArgNumber()))
      unread.set(argument.getArgNumber());
  return function.eraseArguments(unread);
}
