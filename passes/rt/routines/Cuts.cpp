// What becomes of a program that is cut into routines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/routines/Cuts.h"
#include "passes/rt/Roles.h"

#include "dialects/nn/IR/Nn.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

StringRef weft::rt::nameOf(const Segment &segment) {
  bool forward = false, backward = false, update = false;
  for (Operation *op : segment.ops) {
    forward |= !op->hasAttr(nn::kRoleAttr);
    update |= isOfUpdate(op);
    backward |= isOfGradient(op);
  }
  if (segment.ops.empty())
    return "sum";
  if (update)
    return "update";
  return !backward ? "forward" : !forward ? "backward" : "both";
}

bool weft::rt::isInOrder(const Stretch &stretch, Attribute section) {
  int64_t next = 0;
  return llvm::all_of(stretch.steps, [&](const auto &step) {
    return step.first != section || step.second == next++;
  });
}

Value weft::rt::rootOf(Value value) {
  while (value.getDefiningOp() && isSource(value.getDefiningOp()) &&
         value.getDefiningOp()->getNumOperands() > 0)
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

void weft::rt::forEachRead(ArrayRef<Value> values, llvm::function_ref<bool(Value)> each) {
  SmallVector<Value> work(llvm::reverse(values));
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *maker = value.getDefiningOp();
    if (each(value) && maker && isSource(maker))
      llvm::append_range(work, llvm::reverse(maker->getOperands()));
  }
}

bool weft::rt::isReadOutside(const Cut &cut, Value value,
                             const llvm::SmallPtrSet<Operation *, 16> &own) {
  SmallVector<OpOperand *> uses;
  auto follow = [&](Value read) {
    for (OpOperand &use : read.getUses())
      uses.push_back(&use);
  };
  follow(value);
  while (!uses.empty()) {
    OpOperand *use = uses.pop_back_val();
    Operation *user = use->getOwner();
    bool isSum =
        isa<dist::AccumulateOp>(user) && llvm::is_contained(cut.sums, use->getOperandNumber());
    if (own.contains(user) || isSum)
      continue;
    if (!isSource(user))
      return true;
    follow(user->getResult(0));
  }
  return false;
}
