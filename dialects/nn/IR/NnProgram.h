// What attributes say of a program's arguments, results and ops: the one place that names them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNPROGRAM_H
#define WEFT_DIALECTS_NN_IR_NNPROGRAM_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace weft::nn {

inline constexpr llvm::StringLiteral kNameAttr = "nn.name";
/// On an input: names of its dims, "" for those without; which is the batch is known by name.
inline constexpr llvm::StringLiteral kDimsAttr = "nn.dims";
inline constexpr llvm::StringLiteral kSourceAttr = "nn.source";
/// The element type of the source's bytes, where the argument has another.
inline constexpr llvm::StringLiteral kSourceTypeAttr = "nn.source_type";
/// On an argument that is state without bytes in the model: the number that
/// every element starts at.
inline constexpr llvm::StringLiteral kInitialAttr = "nn.initial";
/// On a state: what memory it counts as; "optimizer", absent for parameters.
inline constexpr llvm::StringLiteral kClassAttr = "nn.class";
/// On an optimizer's state: the parameter that it belongs to.
inline constexpr llvm::StringLiteral kOfAttr = "nn.of";
/// On a result: the state whose value it is after the program.
inline constexpr llvm::StringLiteral kUpdatesAttr = "nn.updates";
/// On a state of floats that no optimizer changes: a running statistic, or a
/// constant of the model whose bytes stay in its file.
inline constexpr llvm::StringLiteral kStatisticAttr = "nn.statistic";
/// On an op of the forward pass: the backward pass recomputes it.
inline constexpr llvm::StringLiteral kRecomputeAttr = "nn.recompute";
/// On an op: what it computes for; absent for the forward pass.
inline constexpr llvm::StringLiteral kRoleAttr = "nn.role";
inline constexpr llvm::StringLiteral kRoleInputGradient = "input_gradient";
inline constexpr llvm::StringLiteral kRoleWeightGradient = "weight_gradient";
inline constexpr llvm::StringLiteral kRoleOptimizer = "optimizer";

/// On the module: texts for the executable's table of metadata (weft/runtime/Metadata.h).
inline constexpr llvm::StringLiteral kMetadataAttr = "weft.metadata";

/// True if the argument is state: it has bytes in the model or a number to start at.
bool isState(mlir::FunctionOpInterface program, unsigned argument);
/// True if the argument is state that no optimizer keeps for itself, and no statistic.
bool isParameter(mlir::FunctionOpInterface program, unsigned argument);
/// True if the argument is state that an optimizer keeps for a parameter.
bool isOptimizerState(mlir::FunctionOpInterface program, unsigned argument);
/// The argument's name, or "".
llvm::StringRef argumentName(mlir::FunctionOpInterface program, unsigned argument);
/// The name of the state whose value the result is after the program, or null.
mlir::StringAttr updatedState(mlir::FunctionOpInterface program, unsigned result);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNPROGRAM_H
