// The command that one op of a program's function asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_RT_COMMANDS_COMMANDBUILDER_H
#define WEFT_PASSES_RT_COMMANDS_COMMANDBUILDER_H

#include "dialects/rt/IR/Rt.h"
#include "passes/rt/fusion/FusionChoice.h"

#include "mlir/IR/Builders.h"

namespace weft::rt {

/// What an op is in a function that is ready for commands.
enum class SpecKind {
  View,     // no command: readers see through it
  Constant, // embedded state
  Command,  // exactly one command
  Placed,   // done by the command that makes its operand
  Nothing,  // a sum that no command begins
  End,      // the return
  Unknown,
};
SpecKind specKind(mlir::Operation *op);

/// Fails, with an error at the op, where something in `block` is neither a command nor a view that
/// sizes and strides can say. All else here relies on it.
llvm::LogicalResult verifyViews(mlir::Block &block);

/// Fails, too, where a view is returned.
llvm::LogicalResult verifyViewsAndEnd(mlir::Block &block);

/// What messages call the op: the model's node, or the op's own name.
llvm::StringRef nameForMessages(mlir::Operation *op);

/// The op for which a library fusion calls the library.
mlir::Operation *libraryOpOf(FusionOp fusion);

/// What the call does to that op's results. Nothing if the fusion does more than that.
struct LibraryEnd {
  /// Of each result: the view or concatenation as which it is written (layoutBehind), or null.
  llvm::SmallVector<mlir::Operation *, 3> placed;
  /// Of each result: which output of the fusion it is, or is a part of.
  llvm::SmallVector<unsigned, 3> outputs;
  /// The inputs that are added to the first output.
  llvm::SmallVector<mlir::BlockArgument, 2> addends;
};
std::optional<LibraryEnd> libraryEndOf(FusionOp fusion);

/// The `rt.put` that stands where a call's result is written in place (rt.placed), if it does: the
/// rows are that result and lie in a row, nothing else reads it, and what they are put into is
/// made before the call.
PutOp putOf(mlir::OpResult result);

/// A sum to which nothing was added yet.
bool isNothing(mlir::Value value);

/// Whether nothing is done with the value but to add it to the result of one library call, which
/// adds nothing else: then it may be a sum of nothing.
bool isOnlyAddedOnce(mlir::Value sum);

/// Whether who reads a sum so far can do without one: a routine that does no more with it than to
/// add it once, and overwrites it, so that the sum has memory from then on.
bool mayReadNothing(mlir::OpOperand &use, const mlir::SymbolTable &symbols);

/// Where `value` lies in the dense buffer of the op, constant or argument that
/// made it. Views in such functions always can be said.
ValueLayout specLayout(mlir::Value value);

/// 0, 1, ... below an axis's size: what a state holds of which each process has its coordinate.
PieceAttr coordinatesPiece(mlir::MLIRContext *context, int64_t size);

/// The buffer type of a value.
mlir::MemRefType bufferType(mlir::Type tensor);

/// Creates the views and the command for `op`, on stream 0; `bufferOf` gives the buffer of an
/// argument, constant or command's result, `symbols` what calls run. Where a routine's arena is
/// planned, a call of it gets a buffer of scratch. The verifier of commands compares programs with
/// what this makes. Emits an error and returns nothing for an op that no command does.
mlir::Operation *buildCommand(mlir::OpBuilder &builder, mlir::Operation *op,
                              const mlir::SymbolTable &symbols,
                              llvm::function_ref<mlir::Value(mlir::Value)> bufferOf);

/// Creates the buffer of scratch for a call of a routine whose arena is planned; null if it needs
/// none.
mlir::Value createScratch(mlir::OpBuilder &builder, mlir::Location loc, ProgramOp routine);

} // namespace weft::rt

#endif // WEFT_PASSES_RT_COMMANDS_COMMANDBUILDER_H
