// Passes tables and coordinates to routines as arguments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "passes/rt/routines/Routines.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTHOISTCONSTANTS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

using Constants = std::vector<OwningOpRef<Operation *>>;

/// Makes arguments of the constants of a routine, and returns these.
Constants takeConstants(func::FuncOp routine) {
  Constants taken;
  for (Operation &op : llvm::make_early_inc_range(routine.getBody().front())) {
    if (specKind(&op) != SpecKind::Constant)
      continue;
    if (op.use_empty()) {
      op.erase();
      continue;
    }
    unsigned number = routine.getNumArguments();
    (void)routine.insertArgument(number, op.getResult(0).getType(), {}, op.getLoc());
    op.getResult(0).replaceAllUsesWith(routine.getArgument(number));
    op.remove();
    taken.emplace_back(&op);
  }
  return taken;
}

/// Adds what the calls of one program now have to pass; each constant stands once in it.
class Passing {
public:
  explicit Passing(func::FuncOp program) : program(program) {}

  void addOperands(CallOp call, const Constants &constants) {
    SmallVector<Value> operands;
    for (const OwningOpRef<Operation *> &constant : constants)
      operands.push_back(passed(*constant));
    call.getInputsMutable().append(operands);
  }

private:
  Value passed(Operation *constant) {
    Operation *&copy = copies[constant];
    if (!copy)
      copy = OpBuilder::atBlockBegin(&program.getBody().front()).clone(*constant);
    return copy->getResult(0);
  }

  func::FuncOp program;
  llvm::DenseMap<Operation *, Operation *> copies;
};

struct HoistConstants : weft::rt::impl::RtHoistConstantsBase<HoistConstants> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::DenseMap<Operation *, Constants> taken;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (isRoutine(function))
        taken[function] = takeConstants(function);
    if (taken.empty())
      return markAllAnalysesPreserved();
    for (func::FuncOp program : programsOf(getOperation())) {
      Passing passing(program);
      for (auto call : program.getBody().front().getOps<CallOp>())
        if (auto found = taken.find(calleeOf(call, symbols)); found != taken.end())
          passing.addOperands(call, found->second);
    }
  }
};

} // namespace
