// The programs @step and @eval, made from a forward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_TRAININGPROGRAMS_H
#define WEFT_PASSES_NN_STEP_TRAININGPROGRAMS_H

#include "passes/nn/step/Losses.h"
#include "passes/nn/step/TrainingSpec.h"

namespace weft::step {

/// Turns `function`, a forward pass, into a training step: loss, gradients,
/// clipping, updates. Its results are the loss, the gradients' global norm before
/// clipping, the learning rate, and every state that it updates.
llvm::FailureOr<Loss> makeStep(mlir::func::FuncOp function, const TrainingSpec &spec);

/// Turns `function`, a forward pass, into a program with one result, the loss.
llvm::LogicalResult makeEval(mlir::func::FuncOp function, const TrainingSpec &spec);

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_TRAININGPROGRAMS_H
