// Losses, and the gradients that differentiation starts from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_LOSSES_H
#define WEFT_PASSES_NN_STEP_LOSSES_H

#include "passes/nn/step/Autodiff.h"
#include "passes/nn/step/TrainingSpec.h"

namespace weft::step {

struct Loss {
  /// One number, f32 or wider.
  mlir::Value value;
  /// The output of the model that it is computed from.
  mlir::Value output;
  /// The argument that the output is compared with, if there is one.
  mlir::BlockArgument target;
  bool isTargetMade = false; // the model has none
  /// Of a classification.
  int64_t numClasses = 0;
  /// What the gradient shares with the loss. Cross-entropy: the logarithm of the
  /// sum of exponentials, which labels count and how many; mse: the difference.
  mlir::Value logSum, counted, count, difference;
};

/// Appends the loss of `function`, a forward pass, in front of its terminator.
/// An input for labels or targets is added behind the other inputs unless the
/// model has one of that name. Reports what does not fit.
llvm::FailureOr<Loss> buildLoss(mlir::func::FuncOp function, const LossSpec &spec);

/// Warns of a classification whose logits are computed from the labels: its loss falls, and nothing
/// is learnt. What a model is to reproduce, with mse, it may well read.
void warnOfSeenLabels(mlir::func::FuncOp function, const LossSpec &spec, const Loss &loss);

/// Warns of labels whose extents leave open which dim of the logits is that of the classes; the
/// first, the batch, never is.
void warnOfOtherClasses(mlir::func::FuncOp function, const LossSpec &spec, const Loss &loss);

/// Appends the gradient of the loss with respect to what it is computed from.
/// With `scale` (one number, of the loss's type) times that.
///
/// Of the cross-entropy of logits x with label t, where counted, that is
/// (exp(x - lse) - [index = t]) / count: elementwise, so fusion never
/// materialises probabilities, and on a split vocabulary only lse is reduced.
Seed buildSeed(mlir::func::FuncOp function, const LossSpec &spec, const Loss &loss,
               mlir::Value scale);

/// The argument of that name; null if there is none.
mlir::BlockArgument findArgument(mlir::func::FuncOp function, llvm::StringRef name);

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_LOSSES_H
