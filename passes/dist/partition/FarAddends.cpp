// Sums of gradients whose addends are made far from each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/partition/FarAddends.h"

#include "passes/dist/OpQueries.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/Sum.h"

using namespace mlir;

namespace weft::dist {

namespace {

/// What runs, of all, apart from what lies between two ops.
constexpr size_t kFarPart = 4;

/// Whether what reads a sum would as well be read by one, as a view, or another sum.
bool commutesWithSums(OpOperand &use) {
  return llvm::any_of(
      partialRulesOf(use.getOwner(), ReduceKind::Sum),
      [&](const PartialRule &rule) { return llvm::is_contained(rule, use.getOperandNumber()); });
}

/// Whether the op makes a value of one that is a sum where that is: a view of it, a cast.
bool isOfOneSum(Operation *op) {
  return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         commutesWithSums(op->getOpOperand(0));
}

/// Whether the op's addends or its readers are sums, too: then it is one of several additions of
/// one gradient, in which what is near must be added first.
bool isOneOfSeveral(Operation *op) {
  for (Value addend : op->getOperands()) {
    Operation *maker = addend.getDefiningOp();
    while (maker && isOfOneSum(maker))
      maker = maker->getOperand(0).getDefiningOp();
    if (maker && isSum(maker))
      return true;
  }
  SmallVector<Operation *> readers(op->getUsers());
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    if (isSum(reader))
      return true;
    if (isOfOneSum(reader))
      llvm::append_range(readers, reader->getUsers());
  }
  return false;
}

/// Whether what an op adds up is at last reduced in every microbatch.
bool isReducedEachMicrobatch(Operation *op) {
  while (!op->hasAttr(kStepPartAttr)) {
    if (!op->hasOneUse() || !commutesWithSums(*op->use_begin()))
      return false;
    op = *op->user_begin();
  }
  return true;
}

} // namespace

llvm::DenseSet<Operation *> sumsOfFarAddends(func::FuncOp function) {
  llvm::DenseMap<Operation *, size_t> numbers;
  for (Operation &op : function.getBody().front())
    if (roleOf(&op) == OpRole::Gradient)
      numbers.try_emplace(&op, numbers.size());
  llvm::DenseSet<Operation *> found;
  for (auto [op, number] : numbers) {
    if (!isSum(op))
      continue;
    auto first = numbers.find(op->getOperand(0).getDefiningOp()),
         second = numbers.find(op->getOperand(1).getDefiningOp());
    if (first == numbers.end() || second == numbers.end())
      continue;
    size_t apart =
        std::max(first->second, second->second) - std::min(first->second, second->second);
    if (apart * kFarPart > numbers.size() && !isOneOfSeveral(op) && !isReducedEachMicrobatch(op))
      found.insert(op);
  }
  return found;
}

} // namespace weft::dist
