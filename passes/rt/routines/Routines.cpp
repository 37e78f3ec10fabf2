// Programs, routines, and what a call of a routine is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/routines/Routines.h"
#include "passes/rt/commands/CommandBuilder.h"

#include "dialects/nn/IR/NnProgram.h"
#include "weft/Interfaces/KernelAttributes.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

SmallVector<func::FuncOp> weft::rt::programsOf(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function.isPublic() && !function.isExternal();
  });
}

bool weft::rt::isRoutine(func::FuncOp function) { return function->hasAttr(kRoutineAttr); }

SmallVector<func::FuncOp> weft::rt::commandFunctionsOf(ModuleOp module) {
  SmallVector<func::FuncOp> functions =
      llvm::filter_to_vector(module.getOps<func::FuncOp>(), isRoutine);
  llvm::append_range(functions, programsOf(module));
  return functions;
}

func::FuncOp weft::rt::calleeOf(CallOp call, const SymbolTable &symbols) {
  Operation *callee = symbols.lookup(call.getCalleeAttr().getAttr());
  if (auto routine = dyn_cast_or_null<ProgramOp>(callee))
    if (auto spec = routine->getAttrOfType<FlatSymbolRefAttr>(kSpecAttr))
      callee = symbols.lookup(spec.getAttr());
  return dyn_cast_or_null<func::FuncOp>(callee);
}

SmallVector<int64_t> weft::rt::sharedArguments(func::FuncOp callee) {
  if (auto shared = callee->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr))
    return SmallVector<int64_t>(shared.asArrayRef());
  return SmallVector<int64_t>(callee.getNumResults(), -1);
}

SmallVector<BlockArgument> weft::rt::overwrittenArguments(func::FuncOp function) {
  SmallVector<BlockArgument> result;
  if (isRoutine(function)) {
    for (int64_t argument : sharedArguments(function))
      result.push_back(argument < 0 ? BlockArgument() : function.getArgument(argument));
    return result;
  }
  llvm::DenseMap<Attribute, BlockArgument> states;
  for (BlockArgument argument : function.getArguments())
    if (nn::isState(function, argument.getArgNumber()))
      states[function.getArgAttr(argument.getArgNumber(), nn::kNameAttr)] = argument;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    StringAttr name = nn::updatedState(function, i);
    result.push_back(name ? states.lookup(name) : BlockArgument());
  }
  return result;
}

bool weft::rt::onlyCommunicates(func::FuncOp routine) {
  bool any = false;
  for (Operation &op : routine.getBody().front()) {
    if (specKind(&op) != SpecKind::Command)
      continue;
    SmallVector<TransitionOpInterface> transitions = transitionsOf(&op);
    if (transitions.empty() || !transitions[0].isCommunication())
      return false;
    any = true;
  }
  return any;
}

SmallVector<TransitionOpInterface> weft::rt::communicationOf(Operation *op,
                                                             const SymbolTable &symbols) {
  auto call = dyn_cast<CallOp>(op);
  func::FuncOp callee = call ? calleeOf(call, symbols) : func::FuncOp();
  if (!callee || !isRoutine(callee) || !onlyCommunicates(callee))
    return transitionsOf(op);
  SmallVector<TransitionOpInterface> transitions;
  for (Operation &inner : callee.getBody().front())
    llvm::append_range(transitions, transitionsOf(&inner));
  return transitions;
}

Value weft::rt::movedOperand(OpResult result, const SymbolTable &symbols) {
  Operation *op = result.getOwner();
  if (transitionOf(op, result.getResultNumber()))
    return op->getOperand(result.getResultNumber());
  auto call = dyn_cast<CallOp>(op);
  func::FuncOp callee = call ? calleeOf(call, symbols) : func::FuncOp();
  if (!callee || !isRoutine(callee) || !onlyCommunicates(callee))
    return {};
  Value value = callee.getBody().front().getTerminator()->getOperand(result.getResultNumber());
  while (auto made = dyn_cast<OpResult>(value)) {
    Operation *maker = made.getOwner();
    if (maker->getNumOperands() == 0)
      return {};
    value =
        maker->getOperand(transitionOf(maker, made.getResultNumber()) ? made.getResultNumber() : 0);
  }
  return call.getInputs()[cast<BlockArgument>(value).getArgNumber()];
}

/// Whether a program passes a state or a table.
static bool isStored(Value value, func::FuncOp program) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return nn::isState(program, argument.getArgNumber());
  return specKind(value.getDefiningOp()) == SpecKind::Constant;
}

StoredArguments::StoredArguments(ModuleOp module, const SymbolTable &symbols) {
  for (func::FuncOp program : programsOf(module))
    for (auto call : program.getBody().front().getOps<CallOp>()) {
      func::FuncOp callee = calleeOf(call, symbols);
      if (!callee || !isRoutine(callee))
        continue;
      auto found = ofRoutine.try_emplace(callee, callee.getNumArguments(), true).first;
      for (auto [i, operand] : llvm::enumerate(call.getInputs()))
        if (!isStored(operand, program))
          found->second.reset(i);
    }
}

bool StoredArguments::contains(BlockArgument argument) const {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!isRoutine(function))
    return nn::isState(function, argument.getArgNumber());
  auto found = ofRoutine.find(function);
  return found != ofRoutine.end() && found->second.test(argument.getArgNumber());
}
