// Lets products be the first addends of sums, with nothing to add them to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/routines/Routines.h"

#include "mlir/IR/Matchers.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTELIDESUMSTARTS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

class Elision {
public:
  explicit Elision(ModuleOp module) : module(module), symbols(module) {}

  void run() {
    bool any = false;
    for (func::FuncOp program : programsOf(module))
      for (auto call : llvm::make_early_inc_range(program.getBody().front().getOps<CallOp>()))
        if (makesNegativeZeros(call) && llvm::all_of(call->getUses(), [&](OpOperand &use) {
              return mayReadNothing(use, symbols);
            })) {
          elide(call);
          any = true;
        }
    if (any)
      eraseUncalled();
  }

private:
  /// The argument that a routine makes its one result of by copies and views alone, null if it does
  /// more. Constants are arguments (rt-hoist-constants).
  Value originOf(func::FuncOp routine) {
    auto [found, isNew] = origins.try_emplace(routine);
    if (!isNew || routine.getNumResults() != 1)
      return found->second;
    Value value = routine.getBody().front().getTerminator()->getOperand(0);
    while (Operation *maker = value.getDefiningOp()) {
      if (!isa<DenseOp>(maker) &&
          (specKind(maker) != SpecKind::View || maker->getNumOperands() != 1))
        return {};
      value = maker->getOperand(0);
    }
    return found->second = value;
  }

  /// Whether a call makes one value, which consists of negative zeros.
  bool makesNegativeZeros(CallOp call) {
    func::FuncOp callee = calleeOf(call, symbols);
    Value origin = callee && isRoutine(callee) ? originOf(callee) : Value();
    return origin && matchPattern(call.getInputs()[cast<BlockArgument>(origin).getArgNumber()],
                                  m_NegZeroFloat());
  }

  void elide(CallOp call) {
    OpBuilder builder(call);
    auto nothing = NothingOp::create(builder, call.getLoc(), call.getResult(0).getType());
    if (Attribute roles = call->getAttr(kRolesAttr))
      nothing->setAttr(kRolesAttr, roles);
    call.getResult(0).replaceAllUsesWith(nothing.getResult());
    call.erase();
  }

  /// Routines, and what they were passed.
  void eraseUncalled() {
    llvm::DenseSet<Attribute> called;
    module.walk([&](CallOp call) { called.insert(call.getCalleeAttr().getAttr()); });
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (isRoutine(function) && !called.contains(function.getSymNameAttr()))
        function.erase();
    for (func::FuncOp program : programsOf(module))
      for (Operation &op : llvm::make_early_inc_range(program.getBody().front()))
        if (specKind(&op) == SpecKind::Constant && op.use_empty())
          op.erase();
  }

  ModuleOp module;
  SymbolTable symbols;                        // of before
  llvm::DenseMap<Operation *, Value> origins; // of the results of routines
};

struct ElideSumStarts : weft::rt::impl::RtElideSumStartsBase<ElideSumStarts> {
  void runOnOperation() override { Elision(getOperation()).run(); }
};

} // namespace
