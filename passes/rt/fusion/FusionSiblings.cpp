// Kernels that read the same value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/Roles.h"
#include "passes/rt/fusion/FusionChoice.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace weft::rt {

/// Joins groups that read the same value from memory, though neither reads what the other makes.
/// The later one then runs when the earlier one does. All that it reads is there by then, and what
/// it makes is no larger than the value, which nothing reads any more and which would have been
/// kept for it: neither bytes moved nor the arena grow.
///
/// Worked example: `%h = mul %s, %u` has the gradients `mul %g, %s` and `mul %g, %u`. The first
/// goes to products, the second into the gradient of what makes %s. One kernel of both reads %g
/// once.
class FusionSiblings {
public:
  FusionSiblings(FusionChoice &choice, Block &block) : choice(choice), block(block) {}

  void run() {
    for (Operation &op : block)
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()) &&
            elementsOf(result) > choice.target.traits().smallElements)
          joinReaders(result);
  }

private:
  using Group = FusionChoice::Group;

  void joinReaders(Value value) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (Operation *user = use.getOwner(); choice.classes.lookup(user) == FusionClass::Kernel &&
                                            !isOfUpdate(user) &&
                                            !cast<KernelOpInterface>(user).getLibraryCall())
        uses.push_back(&use);
    // The order of a value's uses is nobody's.
    llvm::sort(uses, [&](OpOperand *a, OpOperand *b) {
      auto place = [&](OpOperand *use) {
        return std::pair(choice.position.lookup(use->getOwner()), use->getOperandNumber());
      };
      return place(a) < place(b);
    });
    for (auto [i, first] : llvm::enumerate(uses))
      for (OpOperand *second : ArrayRef(uses).drop_front(i + 1))
        tryJoin(*first, *second);
  }

  void tryJoin(OpOperand &first, OpOperand &second) {
    Operation *a = first.getOwner(), *b = second.getOwner();
    unsigned from = choice.groupOf.lookup(a), into = choice.groupOf.lookup(b);
    if (from == into || !FusionChoice::areOfOneTime(a, b))
      return;
    if (choice.groups[from].runsAt > choice.groups[into].runsAt)
      std::swap(from, into);
    const Group &earlier = choice.groups[from], &later = choice.groups[into];
    Value shared = choice.behindViews(first.get());
    const unsigned runsAt = earlier.runsAt;
    // It may be a view that is read, smaller than what is kept for it or larger.
    if (!diesIn(shared, later, earlier) || !isReady(later, earlier) ||
        bytesMade(later, earlier) > std::min(bytesOf(shared), bytesOf(first.get())) ||
        choice.wouldCycle(into, from))
      return;
    // Pieces of both that need the same piece of the value.
    if (!choice.tryJoin(from, into,
                        FusionChoice::intersect(choice.cutsAt(a, first.getOperandNumber()),
                                                choice.cutsAt(b, second.getOperandNumber()))))
      choice.groups[from].runsAt = runsAt;
  }

  /// Whether the value is made before, and but for `later` nothing reads it after `earlier`.
  bool diesIn(Value value, const Group &later, const Group &earlier) const {
    Operation *maker = value.getDefiningOp();
    return maker && choice.isRoot(maker) && !choice.groupOf.contains(maker) &&
           choice.forEachUse(value, [&](OpOperand &use) {
             auto group = choice.groupOf.find(use.getOwner());
             if (group == choice.groupOf.end())
               return choice.position.lookup(use.getOwner()) <= earlier.runsAt;
             const Group &reader = choice.groups[group->second];
             return &reader == &later || reader.runsAt <= earlier.runsAt;
           });
  }

  /// Whether what `later` reads is there when `earlier` runs, or made by it.
  bool isReady(const Group &later, const Group &earlier) const {
    for (Operation *op : later.ops)
      for (Value operand : op->getOperands()) {
        Operation *maker = choice.behindViews(operand).getDefiningOp();
        if (!maker || !choice.isRoot(maker))
          continue; // an argument, or a constant
        auto group = choice.groupOf.find(maker);
        bool isMade = group != choice.groupOf.end();
        if (isMade && &choice.groups[group->second] == &later)
          continue;
        if ((isMade ? choice.groups[group->second].runsAt : choice.position.lookup(maker)) >
            earlier.runsAt)
          return false;
      }
    return true;
  }

  /// What goes from `later` to other groups than `earlier`.
  int64_t bytesMade(const Group &later, const Group &earlier) const {
    auto isKept = [&](OpOperand &use) {
      auto group = choice.groupOf.find(use.getOwner());
      return group != choice.groupOf.end() &&
             llvm::is_contained({&later, &earlier}, &choice.groups[group->second]);
    };
    int64_t bytes = 0;
    for (Operation *op : later.ops)
      for (Value result : op->getResults())
        if (!choice.forEachUse(result, isKept))
          bytes += bytesOf(result);
    return bytes;
  }

  FusionChoice &choice;
  Block &block;
};

} // namespace weft::rt

void FusionChoice::joinSiblings(Block &block) { FusionSiblings(*this, block).run(); }
