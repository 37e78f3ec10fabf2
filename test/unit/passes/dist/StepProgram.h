// Makes a training step of any forward program, for tests of placements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_PASSES_DIST_STEPPROGRAM_H
#define WEFT_TEST_UNIT_PASSES_DIST_STEPPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace weft::test {

struct StepOptions {
  enum Optimizer { Sgd, Momentum, AdamW } optimizer = AdamW;
  /// The largest global norm of gradients; 0: not clipped.
  double clip = 0;
  /// Counts only elements where another input is positive, as ignored labels do:
  /// gradients need a count over the batch.
  bool counted = false;
  /// Leaves the first parameter as it is.
  bool frozen = false;
};

/// Replaces the one program of `module` by `@step` (loss, gradient norm, new
/// states) and `@eval` (loss). The loss is the mean of the squares of all
/// results; all floating-point state is trained.
mlir::LogicalResult makeStep(mlir::ModuleOp module, const StepOptions &options);

} // namespace weft::test

#endif // WEFT_TEST_UNIT_PASSES_DIST_STEPPROGRAM_H
