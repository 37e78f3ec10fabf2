// Kernels of the forward pass that gradients join.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/Roles.h"
#include "passes/rt/fusion/FusionChoice.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace weft::rt {

/// Joins groups where the forward pass turns into the backward pass: no library op stands between
/// them, so what is computed earlier than it was waits for nothing and is kept no longer.
///
/// Worked example: a loss over rows of logits, and its gradient. Both read the logits; in one
/// kernel they are read once, row by row, and the gradient may be written over them (InPlace.h).
class FusionTurn {
public:
  FusionTurn(FusionChoice &choice, Block &block) : choice(choice), block(block) {}

  void run() {
    unsigned libraries = 0;
    for (Operation &op : block) {
      librariesBefore[&op] = libraries;
      libraries += choice.classes.lookup(&op) == FusionClass::Library;
    }
    for (Operation &op : block)
      if (choice.classes.lookup(&op) == FusionClass::Kernel && isOfGradient(&op) &&
          !cast<KernelOpInterface>(op).getLibraryCall())
        for (unsigned i = 0; i < op.getNumOperands(); ++i)
          if (Operation *producer = choice.producerOf(op.getOperand(i));
              producer && !producer->hasAttr(nn::kRoleAttr) && isOneTurn(producer, &op))
            tryJoin(producer, &op);
  }

private:
  bool isOneTurn(Operation *producer, Operation *consumer) const {
    auto groupOf = [&](Operation *op) -> const FusionChoice::Group & {
      return choice.groups[choice.groupOf.lookup(op)];
    };
    return producer->getAttr(kMicrobatchAttr) == consumer->getAttr(kMicrobatchAttr) &&
           producer->getAttr(dist::kSectionAttr) == consumer->getAttr(dist::kSectionAttr) &&
           librariesBefore.lookup(groupOf(producer).ops.front()) ==
               librariesBefore.lookup(groupOf(consumer).ops.back());
  }

  /// Whole groups or not at all: half a gradient beside the loss would send to the other half what
  /// one kernel keeps to itself.
  void tryJoin(Operation *producer, Operation *consumer) {
    unsigned from = choice.groupOf.lookup(producer), into = choice.groupOf.lookup(consumer);
    if (from == into)
      return;
    if (auto obstacle = choice.tryJoin(from, into, choice.groups[from].cuts))
      choice.refused.insert({{producer, consumer}, *obstacle});
  }

  FusionChoice &choice;
  Block &block;
  llvm::DenseMap<Operation *, unsigned> librariesBefore;
};

} // namespace weft::rt

void FusionChoice::joinTurns(Block &block) { FusionTurn(*this, block).run(); }
