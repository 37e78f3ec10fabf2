// The `nn` dialect: tensor ops on one logical device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NN_H
#define WEFT_DIALECTS_NN_IR_NN_H

#include "dialects/nn/IR/NnProgram.h"
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

#endif // WEFT_DIALECTS_NN_IR_NN_H
