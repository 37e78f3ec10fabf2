// Ops that are computed again by whoever reads their result, because that moves fewer bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/Roles.h"
#include "passes/rt/fusion/FusionChoice.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/OpInterfaces.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

bool weft::rt::mayBeCopied(Operation *op) {
  return isa<ElementwiseOpInterface>(op) && isa<ShardableOpInterface>(op) && !isOfUpdate(op);
}

double weft::rt::flopsOf(ArrayRef<Operation *> copies) {
  double flops = 0;
  for (Operation *copy : copies)
    flops += cast<ShardableOpInterface>(copy).getFlopsPerPoint() * elementsOf(copy->getResult(0));
  return flops;
}

bool weft::rt::readsOnce(OpOperand &use, int64_t elements) {
  Operation *user = use.getOwner();
  auto shardable = dyn_cast<ShardableOpInterface>(user);
  if (isOfUpdate(user) || isFree(user) || !shardable || elementsOf(use.get()) > elements)
    return false;
  return isa<ElementwiseOpInterface>(user) ||
         shardable.getOwnFactorRule().points() * shardable.getFlopsPerPoint() <= elements;
}

namespace weft::rt {

/// Takes values out of memory that kernels write for other kernels. A value goes if all that read
/// it are kernels that can compute it from what is in memory, or from something much smaller. That
/// is less, and lives as long as the value would have: neither bytes moved nor the arena grow.
///
/// Worked example: `%f = cast %x` from bf16 and `%m = max %f` are one kernel, `sub %f, %m` is in
/// another. The first would write %f and the second read it, 8 bytes an element beside the 2 of %x.
/// With a copy of the cast the second reads 2.
class FusionCopies {
public:
  FusionCopies(FusionChoice &choice, Block &block) : choice(choice), block(block) {}

  void run() {
    // What an op reads may have gone from memory, which settles what copies of it would read.
    for (Operation &op : block)
      if (choice.classes.lookup(&op) == FusionClass::Kernel && mayBeCopied(&op))
        tryRemove(&op);
  }

private:
  using Group = FusionChoice::Group;

  /// A kernel that reads the value, and what it would have instead.
  struct Reader {
    unsigned group;
    llvm::SetVector<Operation *> copies;
    llvm::SetVector<Value> leaves; // what copies read from memory
  };

  static unsigned sizeOf(Operation *op) { return std::max(op->getNumOperands(), 2u) - 1; }

  bool isView(Operation *op) const { return choice.classes.lookup(op) == FusionClass::Free; }

  bool isInMemory(Value value) const {
    Operation *def = value.getDefiningOp();
    if (!def || choice.classes.lookup(def) != FusionClass::Kernel || choice.isReadByCopies(value))
      return true;
    return !choice.forEachUse(value, [&](OpOperand &use) {
      auto group = choice.groupOf.find(use.getOwner());
      return group != choice.groupOf.end() && (group->second == choice.groupOf.lookup(def) ||
                                               choice.groups[group->second].copies.contains(def));
    });
  }

  /// The kernels that read the value from memory; none if others do as well.
  SmallVector<Reader> readersOf(Operation *op) const {
    SmallVector<Reader> readers;
    bool all = choice.forEachUse(op->getResult(0), [&](OpOperand &use) {
      auto found = choice.groupOf.find(use.getOwner());
      if (found == choice.groupOf.end())
        return false;
      unsigned group = found->second;
      if (group == choice.groupOf.lookup(op) || choice.groups[group].copies.contains(op))
        return true;
      if (llvm::none_of(readers, [&](const Reader &other) { return other.group == group; }))
        readers.push_back({group, {}, {}});
      return choice.classes.lookup(use.getOwner()) == FusionClass::Kernel &&
             readsOnce(use, elementsOf(op->getResult(0)));
    });
    return all && !choice.isReadByCopies(op->getResult(0)) ? readers : SmallVector<Reader>();
  }

  /// Adds a copy of `op`, and of what it reads as far as that is neither in memory nor small. False
  /// if something of that may not be copied.
  bool addCopy(Operation *op, int64_t smallBytes, Reader &reader) const {
    if (!mayBeCopied(op))
      return false;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = choice.behindViews(operand.get());
      Operation *def = value.getDefiningOp();
      if (def && isView(def))
        continue; // a constant
      if (def && (reader.copies.contains(def) || choice.groups[reader.group].copies.contains(def)))
        continue;
      if (isInMemory(value) || bytesOf(value) <= smallBytes) {
        reader.leaves.insert(value);
        continue;
      }
      if (!addCopy(def, smallBytes, reader))
        return false;
    }
    reader.copies.insert(op);
    return true;
  }

  llvm::SetVector<Value> inputsOf(const Group &group) const {
    llvm::SetVector<Value> inputs;
    auto add = [&](Operation *op) {
      for (Value operand : op->getOperands())
        inputs.insert(choice.behindViews(operand));
    };
    llvm::for_each(group.ops, add);
    llvm::for_each(group.copies, add);
    return inputs;
  }

  /// Whether code can be generated from so many ops, and a piece of what is dear stays on the chip.
  bool hasRoom(const Reader &reader) const {
    const Group &group = choice.groups[reader.group];
    unsigned size = group.size;
    int64_t bytes = 0;
    for (Operation *op : reader.copies) {
      size += sizeOf(op);
      bytes += dearBytesOf(op);
    }
    const TargetTraits &traits = choice.target.traits();
    return size <= traits.mostKernelOps &&
           (bytes == 0 || (group.bytes + bytes) / group.cuts.back() <= traits.onChipBytes);
  }

  void tryRemove(Operation *op) {
    Value value = op->getResult(0);
    const int64_t bytes = bytesOf(value);
    SmallVector<Reader> readers = readersOf(op);
    if (readers.empty())
      return;
    llvm::SetVector<Value> kept; // for readers that did not read it
    int64_t written = 0, read = 0;
    double flops = 0;
    for (Reader &reader : readers) {
      if (!addCopy(op, bytes / kMuchSmaller, reader) || !hasRoom(reader))
        return;
      llvm::SetVector<Value> inputs = inputsOf(choice.groups[reader.group]);
      for (Value leaf : reader.leaves)
        if (!inputs.contains(leaf)) {
          read += bytesOf(leaf);
          if (kept.insert(leaf) && !isInMemory(leaf))
            written += bytesOf(leaf);
        }
      flops += flopsOf(reader.copies.getArrayRef());
    }
    int64_t keptBytes = 0;
    for (Value leaf : kept)
      keptBytes += bytesOf(leaf);
    int64_t saved = bytes * int64_t(readers.size() + 1) - read - written;
    if (keptBytes > bytes + bytes / kMuchSmaller ||
        flops > choice.target.traits().flopsPerByte * saved)
      return;
    for (Reader &reader : readers) {
      Group &group = choice.groups[reader.group];
      for (Operation *copy : reader.copies)
        if (group.copies.insert(copy)) {
          group.size += sizeOf(copy);
          group.bytes += dearBytesOf(copy);
        }
      choice.readByCopies.insert(reader.leaves.begin(), reader.leaves.end());
    }
  }

  FusionChoice &choice;
  Block &block;
};

} // namespace weft::rt

void FusionChoice::copyOps(Block &block) { FusionCopies(*this, block).run(); }

bool FusionChoice::isCopiedFor(Operation *reader, Operation *op) const {
  auto group = groupOf.find(reader);
  return group != groupOf.end() && groups[group->second].copies.contains(op);
}
