// Reverse-mode differentiation of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_STEP_AUTODIFF_H
#define WEFT_PASSES_NN_STEP_AUTODIFF_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::step {

/// A value of the program, and the gradient of the loss with respect to it (of
/// the value's type).
struct Seed {
  mlir::Value value, gradient;
};

/// Appends, in front of the terminator, the ops that compute the gradients with
/// respect to values of `function` (arguments, say), and returns them: one an
/// entry of `withRespectTo`, of its type; zeros where the loss does not depend
/// on it.
///
/// Ops are visited from the last to the first. A value that several ops read
/// has the sum of their gradients, added up by nn.add in that order, beginning
/// with the seeds; so at most one sum a value is alive. New ops have their
/// forward op's location and the attribute nn.role: `input_gradient` if the
/// gradient of an activation needs the op, else `weight_gradient`. What depends
/// on state and constants alone (a transposed weight) counts as a weight.
///
/// Fails with an error at every op that has no gradient and stands between
/// `withRespectTo` and a seed; the function is then as it was.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
differentiate(mlir::func::FuncOp function, llvm::ArrayRef<Seed> seeds,
              llvm::ArrayRef<mlir::Value> withRespectTo);

} // namespace weft::step

#endif // WEFT_PASSES_NN_STEP_AUTODIFF_H
