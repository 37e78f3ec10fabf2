// What becomes lists of commands: programs, and the routines that they call.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_ROUTINES_ROUTINES_H
#define WEFT_PASSES_RT_ROUTINES_ROUTINES_H

#include "dialects/rt/IR/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

namespace weft::rt {

/// The named programs: the public functions with a body.
llvm::SmallVector<mlir::func::FuncOp> programsOf(mlir::ModuleOp module);

bool isRoutine(mlir::func::FuncOp function);

/// Routines, then programs: all functions that become commands.
llvm::SmallVector<mlir::func::FuncOp> commandFunctionsOf(mlir::ModuleOp module);

/// The kernel or routine that a call runs, also when the routine's name is that of its commands.
/// By a table, because a look-up without one goes through all symbols of the module.
mlir::func::FuncOp calleeOf(CallOp call, const mlir::SymbolTable &symbols);

/// The argument whose memory each result of a kernel or routine shares, -1 for none.
llvm::SmallVector<int64_t> sharedArguments(mlir::func::FuncOp callee);

/// The argument in whose memory each result lies at the end, null for one with memory of its own:
/// the state that a program updates, what a routine overwrites.
llvm::SmallVector<mlir::BlockArgument> overwrittenArguments(mlir::func::FuncOp function);

/// True if a routine does nothing but talk to other processes.
bool onlyCommunicates(mlir::func::FuncOp routine);

/// The transitions between placements that one command does, as transitionsOf; of a call of a
/// routine that only communicates, all of the routine's.
llvm::SmallVector<TransitionOpInterface> communicationOf(mlir::Operation *op,
                                                         const mlir::SymbolTable &symbols);

/// What communication brings to the result of an op: the operand of its transition, also in a
/// routine that only communicates; null for other ops.
mlir::Value movedOperand(mlir::OpResult result, const mlir::SymbolTable &symbols);

/// Arguments that hold a state's value: a program's states, and those arguments of a routine that
/// are a program's states or constants in every call.
class StoredArguments {
public:
  StoredArguments(mlir::ModuleOp module, const mlir::SymbolTable &symbols);
  bool contains(mlir::BlockArgument argument) const;

private:
  llvm::DenseMap<mlir::Operation *, llvm::BitVector> ofRoutine;
};

} // namespace weft::rt

#endif // WEFT_PASSES_RT_ROUTINES_ROUTINES_H
