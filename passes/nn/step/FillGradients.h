// Gradients that a model itself asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_FILLGRADIENTS_H
#define WEFT_PASSES_NN_STEP_FILLGRADIENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::step {

/// Gradients of one number.
struct OwnGradient {
  mlir::Value y;
  llvm::SmallVector<mlir::Value> xs, gradients;
};

/// Replaces each argument marked `nn.gradient` by the gradient that it stands for, and drops the
/// results that the mark refers to, which only named the values to differentiate. A gradient may be
/// an operand of what the next one differentiates.
mlir::FailureOr<llvm::SmallVector<OwnGradient>> fillGradients(mlir::func::FuncOp function);

/// Makes a training step of the one that the model describes: adds the global norm
/// of gradients, the learning rate if an optimizer tells it, and the state that
/// counts steps.
llvm::LogicalResult finishModelStep(mlir::func::FuncOp function);
/// Makes a program of the loss alone.
void finishModelEvaluation(mlir::func::FuncOp function);

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_FILLGRADIENTS_H
