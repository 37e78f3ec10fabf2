// The `nn` dialect: tensor ops on one logical device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_NN_H
#define WEFT_DIALECTS_NN_NN_H

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/TensorSize.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/nn/IR/NnDialect.h.inc"
#include "dialects/nn/IR/NnEnums.h.inc"

namespace weft::nn {
llvm::LogicalResult verifySameShape(mlir::Operation *op);
llvm::LogicalResult verifySameElementType(mlir::Operation *op);

/// Shapes of all operands and of the result are equal; encodings may differ.
template <typename Op> struct SameShape : mlir::OpTrait::TraitBase<Op, SameShape> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameShape(op); }
};
/// Element types of all operands and of the result are equal.
template <typename Op> struct SameElementType : mlir::OpTrait::TraitBase<Op, SameElementType> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifySameElementType(op); }
};
} // namespace weft::nn

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/IR/NnAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/nn/IR/NnOps.h.inc"

namespace weft::nn {
/// Names of the attributes on program arguments and results.
inline constexpr llvm::StringLiteral kNameAttr = "nn.name";
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
/// On an op of the forward pass: the backward pass computes it anew.
inline constexpr llvm::StringLiteral kRecomputeAttr = "nn.recompute";
/// On an op: what it computes for; absent for the forward pass.
inline constexpr llvm::StringLiteral kRoleAttr = "nn.role";
inline constexpr llvm::StringLiteral kRoleInputGradient = "input_gradient";
inline constexpr llvm::StringLiteral kRoleWeightGradient = "weight_gradient";
inline constexpr llvm::StringLiteral kRoleOptimizer = "optimizer";
} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_NN_H
