// Found before the search, and settled by its readers after it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MadeAnywhere.h"

#include "weft/Interfaces/ComputeClass.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace weft {

OpsMadeAnywhere findMadeAnywhere(Block &program, const AxisCandidates &candidates) {
  OpsMadeAnywhere found;
  auto isMadeAnywhere = [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    return maker && found.contains(maker);
  };
  for (Operation &op : program)
    if (candidates.includes(&op) && !op.hasTrait<OpTrait::IsTerminator>() &&
        !isArithmeticBound(&op) && llvm::all_of(op.getOperands(), isMadeAnywhere))
      found.insert(&op);
  return found;
}

/// The split in which all searched readers want a value, if there is one.
static std::optional<AxisSplit> splitOfReaders(Value value, const AxisSearchResult &result) {
  std::optional<AxisSplit> wanted;
  for (OpOperand &use : value.getUses()) {
    auto reader = result.uses.find(use.getOwner());
    if (reader == result.uses.end() || reader->second.empty())
      continue;
    const AxisSplit &split = reader->second[use.getOperandNumber()];
    if (split.kind != AxisSplit::Kind::Sharded || (wanted && !(*wanted == split)))
      return std::nullopt;
    wanted = split;
  }
  return wanted;
}

void splitAsRead(const OpsMadeAnywhere &ops, const AxisCandidates &candidates,
                 AxisSearchResult &result) {
  // Readers first.
  for (Operation *op : llvm::reverse(ops)) {
    if (op->getNumOperands() == 0 || op->getNumResults() != 1)
      continue;
    Value value = op->getResult(0);
    std::optional<AxisSplit> wanted = splitOfReaders(value, result);
    if (!wanted || candidates.fixedState(value))
      continue;
    SmallVector<AxisStrategy, 8> strategies = candidates.strategies(op);
    auto *found = llvm::find_if(strategies, [&](const AxisStrategy &strategy) {
      return candidates.states(value)[strategy.results.front()] == *wanted;
    });
    if (found == strategies.end())
      continue;
    result.splits[value] = *wanted;
    for (auto [operand, state, use] :
         llvm::zip_equal(op->getOperands(), found->operands, result.uses[op]))
      use = candidates.states(operand)[state];
  }
}

} // namespace weft
