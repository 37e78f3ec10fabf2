// Writes new values of states in place where nothing reads the old ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/CommandBuilder.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"

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
    for (BlockArgument arg : function.getArguments())
      if (nn::isState(function, arg.getArgNumber()))
        states[function.getArgAttr(arg.getArgNumber(), nn::kNameAttr)] = arg;
  }

  void run() {
    Operation *end = function.getBody().front().getTerminator();
    for (OpOperand &result : end->getOpOperands())
      if (StringAttr name = nn::updatedState(function, result.getOperandNumber()))
        if (auto copy = result.get().getDefiningOp<DenseOp>())
          tryElide(result, copy, name);
    // All results of a call are known now.
    for (auto &[op, shared] : sharing) {
      auto call = cast<CallOp>(op);
      call.setCalleeAttr(FlatSymbolRefAttr::get(variants.get(variants.kernelOf(call), shared)));
    }
  }

private:
  void tryElide(OpOperand &result, DenseOp copy, StringAttr name) {
    Value value = copy.getOperand();
    auto made = dyn_cast<OpResult>(value);
    // What else the return takes has a buffer of its own.
    if (!made || specKind(made.getOwner()) != SpecKind::Command ||
        llvm::any_of(value.getUsers(),
                     [](Operation *user) { return specKind(user) == SpecKind::End; }))
      return;
    Operation *maker = made.getOwner();
    int64_t argument = -1;
    for (const Reader &reader : readersOf(states.at(name))) {
      if (position.lookup(reader.op) < position.lookup(maker) && reader.op != maker)
        continue;
      if (reader.op != maker)
        return tellCopied(maker, name,
                          "'" + nameForMessages(reader.op) +
                              "' reads the old value after the new one is made");
      if (!mayShare(maker, made.getResultNumber(), reader))
        return tellCopied(maker, name, "it cannot write over the old value while it reads it");
      if (argument >= 0)
        return tellCopied(maker, name, "it reads the old value as two operands");
      argument = reader.operand;
    }
    if (argument >= 0) {
      auto found = sharing.find(maker);
      if (found == sharing.end())
        found = sharing.insert({maker, SmallVector<int64_t>(maker->getNumResults(), -1)}).first;
      found->second[made.getResultNumber()] = argument;
    }
    result.set(value);
    copy.erase();
  }

  static void tellCopied(Operation *maker, StringAttr state, const Twine &why) {
    if (maker->getContext()->getRemarkEngine())
      remark::missed(maker->getLoc(),
                     remark::RemarkOpts::name("copied").category("rt-elide-update-copies"))
          << ("is copied into state '" + state.getValue() + "' at the end, because " + why).str();
  }

  bool mayShare(Operation *maker, unsigned number, const Reader &reader) const {
    auto call = dyn_cast<CallOp>(maker);
    return call && reader.isWhole && mayOverwrite(variants.kernelOf(call), reader.operand, number);
  }

  func::FuncOp function;
  KernelVariants &variants;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Attribute, BlockArgument> states; // by name
  llvm::MapVector<Operation *, SmallVector<int64_t>> sharing;
};

struct ElideUpdateCopies : weft::rt::impl::RtElideUpdateCopiesBase<ElideUpdateCopies> {
  void runOnOperation() override {
    KernelVariants variants(getOperation());
    for (func::FuncOp function : programsOf(getOperation()))
      Elision(function, variants).run();
    variants.finish(getOperation());
  }
};

} // namespace
