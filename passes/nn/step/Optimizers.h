// The update of one parameter, and the scalars of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_OPTIMIZERS_H
#define WEFT_PASSES_NN_STEP_OPTIMIZERS_H

#include "passes/nn/step/TrainingSpec.h"

#include "mlir/IR/Builders.h"

namespace weft::step {

/// What an optimizer keeps for each parameter, in PyTorch's words: `exp_avg`,
/// `exp_avg_sq`, `momentum_buffer`, `sum`. All start at zero.
llvm::SmallVector<llvm::StringRef> slotNames(OptimizerKind kind);

/// Scalars of a step as nn ops, computed in f64 whatever the program's type:
/// 1 - beta^t would lose most of its digits in f32.
class StepScalars {
public:
  /// `step` is the number of updates before this one.
  StepScalars(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value step,
              const OptimizerSpec &spec);

  /// `base` times the schedule's factor.
  mlir::Value rate(double base);
  /// 1 - beta^t, t counting from 1.
  mlir::Value biasCorrection(double beta);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value count, factor;
};

struct Update {
  mlir::Value parameter;
  llvm::SmallVector<mlir::Value> slots;
};

/// The new value of `parameter` and of its slots. All tensors have one floating
/// point type, in which is computed.
Update buildUpdate(mlir::OpBuilder &builder, mlir::Location loc, OptimizerKind kind,
                   const HyperParameters &hyper, StepScalars &scalars, mlir::Value parameter,
                   mlir::Value gradient, llvm::ArrayRef<mlir::Value> slots);

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_OPTIMIZERS_H
