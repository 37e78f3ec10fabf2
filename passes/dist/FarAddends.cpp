// Sums of gradients whose addends are made far from each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/FarAddends.h"

#include "passes/dist/OpQueries.h"
#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;

namespace weft::dist {

namespace {

/// What runs, of all, apart from what lies between two ops.
constexpr size_t kFarPart = 4;

/// The numbers of operands that an op adds up; fewer than two if it adds up nothing.
PartialRule addendsOf(Operation *op) {
  for (PartialRule &rule : partialRulesOf(op, ReduceKind::Sum))
    if (rule.size() > 1)
      return std::move(rule);
  return {};
}

/// Whether what reads a sum would as well be read by one, as a view, or another sum.
bool commutesWithSums(OpOperand &use) {
  return llvm::any_of(
      partialRulesOf(use.getOwner(), ReduceKind::Sum),
      [&](const PartialRule &rule) { return llvm::is_contained(rule, use.getOperandNumber()); });
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
    size_t first = number, last = 0;
    for (unsigned operand : addendsOf(op))
      if (auto maker = numbers.find(op->getOperand(operand).getDefiningOp());
          maker != numbers.end()) {
        first = std::min(first, maker->second);
        last = std::max(last, maker->second);
      }
    if (last > first && (last - first) * kFarPart > numbers.size() && !isReducedEachMicrobatch(op))
      found.insert(op);
  }
  return found;
}

} // namespace weft::dist
