// Writes new values of states in place where nothing reads the old ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTELIDEUPDATECOPIES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

class Elision {
public:
  Elision(func::FuncOp function, KernelVariants &variants)
      : function(function), variants(variants) {
    for (auto [i, op] : llvm::enumerate(function.getBody().front()))
      position[&op] = i;
  }

  void run() {
    Operation *end = function.getBody().front().getTerminator();
    SmallVector<BlockArgument> overwritten = overwrittenArguments(function);
    for (OpOperand &result : end->getOpOperands())
      if (BlockArgument state = overwritten[result.getOperandNumber()])
        if (auto copy = result.get().getDefiningOp<DenseOp>())
          tryElide(result, copy, state);
    // All results of a command are known now.
    for (auto &[op, shared] : sharing)
      variants.share(op, shared);
  }

private:
  void tryElide(OpOperand &result, DenseOp copy, BlockArgument state) {
    Value value = copy.getOperand();
    auto made = dyn_cast<OpResult>(value);
    // What else the return takes has a buffer of its own.
    if (!made || specKind(made.getOwner()) != SpecKind::Command ||
        llvm::any_of(value.getUsers(),
                     [](Operation *user) { return specKind(user) == SpecKind::End; }))
      return;
    Operation *maker = made.getOwner();
    int64_t argument = -1;
    for (const Reader &reader : readersOf(state)) {
      if (position.lookup(reader.op) < position.lookup(maker) && reader.op != maker)
        continue;
      if (reader.op != maker)
        return tellCopied(maker, state,
                          "'" + nameForMessages(reader.op) +
                              "' reads the old value after the new one is made");
      if (!reader.isWhole || !variants.mayOverwrite(maker, reader.operand, made.getResultNumber()))
        return tellCopied(maker, state, "it cannot write over the old value while it reads it");
      if (argument >= 0)
        return tellCopied(maker, state, "it reads the old value as two operands");
      argument = reader.operand;
    }
    Value home = homeOf(value);
    if (home != value && home != state)
      return tellCopied(maker, state, "it overwrites another value");
    if (argument >= 0 && home == value) {
      auto found = sharing.find(maker);
      if (found == sharing.end())
        found = sharing.insert({maker, SmallVector<int64_t>(maker->getNumResults(), -1)}).first;
      found->second[made.getResultNumber()] = argument;
    }
    result.set(value);
    copy.erase();
  }

  /// The value in whose memory this one was put, one over the other.
  Value homeOf(Value value) const {
    while (auto made = dyn_cast<OpResult>(value)) {
      int64_t argument = variants.sharedArguments(made.getOwner())[made.getResultNumber()];
      if (argument < 0)
        break;
      value = made.getOwner()->getOperand(argument);
    }
    return value;
  }

  std::string nameOf(BlockArgument state) {
    unsigned number = state.getArgNumber();
    if (auto name = function.getArgAttrOfType<StringAttr>(number, nn::kNameAttr))
      return "state '" + name.str() + "'";
    return "argument " + std::to_string(number);
  }

  void tellCopied(Operation *maker, BlockArgument state, const Twine &why) {
    if (maker->getContext()->getRemarkEngine())
      remark::missed(maker->getLoc(),
                     remark::RemarkOpts::name("copied").category("rt-elide-update-copies"))
          << ("is copied into " + nameOf(state) + " at the end, because " + why).str();
  }

  func::FuncOp function;
  KernelVariants &variants;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::MapVector<Operation *, SmallVector<int64_t>> sharing;
};

struct ElideUpdateCopies : weft::rt::impl::RtElideUpdateCopiesBase<ElideUpdateCopies> {
  void runOnOperation() override {
    KernelVariants variants(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      Elision(function, variants).run();
    variants.finish(getOperation());
  }
};

} // namespace
