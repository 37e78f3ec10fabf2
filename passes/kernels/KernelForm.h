// Kernels as `convert-nn-to-linalg` leaves them, made ready to be tiled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_KERNELS_KERNELFORM_H
#define WEFT_PASSES_KERNELS_KERNELFORM_H

#include "ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::kernels {

/// `memory` with the elements of the type in row-major order.
Storage denseStorage(mlir::Value memory, mlir::RankedTensorType type, IndexSpace &space);

/// The elements, in one dim, of a constant that is not one number and has to lie in memory; null
/// for any other.
mlir::DenseElementsAttr tableOf(mlir::arith::ConstantOp constant);

/// Fails, with an error at the op, where one is still to be converted to linalg.
llvm::LogicalResult verifyConverted(mlir::func::FuncOp kernel);

/// Whether the op reads somewhere at an index that it computes from elements.
bool looksUp(mlir::linalg::GenericOp generic);

/// Rows that a forall makes start from a tensor.empty each, so that it can stand for their memory;
/// CSE may have made one of several.
void separateRows(mlir::func::FuncOp kernel);

/// Gives all results the same leading dims, as many parts as can be: those of the result whose
/// leading dims cut it finest into what every result can be cut into. False if they have them.
bool shareLeadingDims(mlir::func::FuncOp kernel);

} // namespace weft::kernels

#endif // WEFT_PASSES_KERNELS_KERNELFORM_H
