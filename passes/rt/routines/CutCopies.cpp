// Values that a routine computes again instead of being given them, because that takes less.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/fusion/FusionChoice.h"
#include "passes/rt/routines/Cuts.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

class CutCopies {
public:
  CutCopies(Stretch &stretch, const Target &target) : stretch(stretch), target(target) {}

  void run() {
    for (Cut &cut : stretch.cuts)
      if (cut.segment.isRoutine)
        for (Operation *op : cut.segment.ops)
          cutOf[op] = &cut;
    // Of what is read by a copy, in turn, an earlier one may be made.
    for (Cut &cut : stretch.cuts)
      if (cut.segment.isRoutine)
        for (Operation *op : cut.segment.ops)
          if (mayBeCopied(op))
            tryRemove(op);
    for (Cut &cut : llvm::reverse(stretch.cuts))
      dropUnread(cut);
    // What only made values that others now make is no routine any more.
    llvm::erase_if(stretch.cuts,
                   [](const Cut &cut) { return cut.segment.ops.empty() && cut.sums.empty(); });
  }

private:
  /// A cut that reads the value, and what it would have instead.
  struct Reader {
    Cut *cut;
    llvm::SetVector<Operation *> copies;
    llvm::SetVector<Value> leaves; // what copies read that the cut does not read now
    Operation *user;               // one op that reads the value
  };

  /// Calls `each` for what reads the value through sources. False as soon as that is.
  static bool forEachUse(Value value, llvm::function_ref<bool(OpOperand &)> each) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      return isSource(use.getOwner()) ? forEachUse(use.getOwner()->getResult(0), each) : each(use);
    });
  }

  /// The other cuts that read the value; none if what is no routine reads it as well, or cannot
  /// compute it as it reads it.
  SmallVector<Reader> readersOf(Operation *op) const {
    Value value = op->getResult(0);
    const int64_t elements = elementsOf(value);
    SmallVector<Reader> readers;
    bool all = forEachUse(value, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      Cut *cut = cutOf.lookup(user);
      if (cut && cut == cutOf.lookup(op))
        return true;
      if (cut && llvm::none_of(readers, [&](const Reader &other) { return other.cut == cut; }))
        readers.push_back({cut, {}, {}, user});
      return cut && isa<KernelOpInterface>(user) && readsOnce(use, elements);
    });
    return all ? readers : SmallVector<Reader>();
  }

  static llvm::SmallDenseSet<Value> readBy(const Cut &cut) {
    llvm::SmallDenseSet<Value> values;
    for (Operation *op : cut.segment.ops)
      for (Value operand : op->getOperands())
        forEachRoot(operand, [&](Value root) { values.insert(root); });
    return values;
  }

  /// Adds a copy of `op`, and of what it reads as far as that is neither there nor small. False if
  /// something of that may not be copied.
  bool addCopy(Operation *op, int64_t smallBytes, const llvm::SmallDenseSet<Value> &there,
               Reader &reader) const {
    if (!mayBeCopied(op) || !cutOf.contains(op))
      return false;
    bool all = true;
    for (Value operand : op->getOperands())
      forEachRoot(operand, [&](Value root) {
        Operation *maker = root.getDefiningOp();
        if (there.contains(root) || reader.copies.contains(maker))
          return;
        if (isBefore(root) || bytesOf(root) <= smallBytes)
          reader.leaves.insert(root);
        else
          all = all && addCopy(maker, smallBytes, there, reader);
      });
    reader.copies.insert(op);
    return all;
  }

  /// Whether the value is there, whoever reads it.
  static bool isBefore(Value value) { return isa<BlockArgument>(value); }

  void tryRemove(Operation *op) {
    const int64_t bytes = bytesOf(op->getResult(0));
    SmallVector<Reader> readers = readersOf(op);
    if (readers.empty())
      return;
    llvm::SetVector<Value> given; // to readers that did not read it
    int64_t read = 0, givenBytes = 0;
    double flops = 0;
    for (Reader &reader : readers) {
      if (!addCopy(op, bytes / kMuchSmaller, readBy(*reader.cut), reader))
        return;
      for (Value leaf : reader.leaves) {
        read += bytesOf(leaf);
        if (!isBefore(leaf) && given.insert(leaf))
          givenBytes += bytesOf(leaf);
      }
      flops += flopsOf(reader.copies.getArrayRef());
    }
    const int64_t saved = bytes * int64_t(readers.size() + 1) - read - givenBytes;
    if (2 * givenBytes > bytes || flops > target.traits().flopsPerByte * saved)
      return;
    for (Reader &reader : readers)
      copyInto(reader, op);
  }

  /// Lets the reader read copies, which are ops of its cut in front of all others.
  void copyInto(const Reader &reader, Operation *op) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    IRMapping map;
    std::vector<Operation *> copies;
    for (Operation *original : reader.copies) {
      for (Value operand : original->getOperands())
        remake(builder, operand, map);
      Operation *copy = builder.clone(*original, map);
      for (StringRef name : {nn::kRoleAttr, dist::kSectionAttr})
        if (Attribute own = reader.user->getAttr(name))
          copy->setAttr(name, own);
        else
          copy->removeAttr(name);
      cutOf[copy] = reader.cut;
      copies.push_back(copy);
    }
    std::vector<Operation *> &ops = reader.cut->segment.ops;
    for (Operation *user : ops) {
      builder.setInsertionPoint(user);
      for (OpOperand &operand : user->getOpOperands())
        operand.set(remake(builder, operand.get(), map));
    }
    ops.insert(ops.begin(), copies.begin(), copies.end());
  }

  /// The value, a view of copies if it is one of what was copied.
  static Value remake(OpBuilder &builder, Value value, IRMapping &map) {
    if (Value found = map.lookupOrNull(value))
      return found;
    Operation *maker = value.getDefiningOp();
    if (!maker || !isSource(maker))
      return value;
    bool isCopied = false;
    for (Value operand : maker->getOperands())
      isCopied |= remake(builder, operand, map) != operand;
    return isCopied ? builder.clone(*maker, map)->getResult(0) : value;
  }

  /// What only the copied ops read is not needed.
  static void dropUnread(Cut &cut) {
    std::vector<Operation *> kept;
    for (Operation *op : llvm::reverse(cut.segment.ops)) {
      auto isRead = [](Value value) {
        return !forEachUse(value, [](OpOperand &) { return false; });
      };
      if (mayBeCopied(op) && llvm::none_of(op->getResults(), isRead))
        op->dropAllReferences();
      else
        kept.push_back(op);
    }
    cut.segment.ops.assign(kept.rbegin(), kept.rend());
  }

  Stretch &stretch;
  const Target &target;
  llvm::DenseMap<Operation *, Cut *> cutOf;
};

} // namespace

void weft::rt::copyAcrossCuts(Stretch &stretch, const Target &target) {
  CutCopies(stretch, target).run();
}
