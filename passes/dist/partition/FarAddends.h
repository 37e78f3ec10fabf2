// Sums of gradients whose addends are made far from each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_PARTITION_FARADDENDS_H
#define WEFT_PASSES_DIST_PARTITION_FARADDENDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace weft::dist {

/// The gradient ops that add two values which are made more than a quarter of all gradient ops
/// apart, as for a weight that the first and the last layers share. Over microbatches each addend
/// is then accumulated where it is made, and the sums are added once behind them: no microbatch has
/// to bring one addend to the other, from stage to stage of a pipeline or from one routine to
/// another. It costs a second accumulator. Gradients of more than two addends, as of a weight that
/// a recurrence or an encoder reads besides, stay one sum, which is added up in each microbatch.
/// Nothing here depends on where a pipeline is cut, so that all cuts add in one order.
///
/// A sum that is reduced in every microbatch (`dist.step_part`), as it is to be kept split, is none
/// of them: its addends' accumulators would be whole.
llvm::DenseSet<mlir::Operation *> sumsOfFarAddends(mlir::func::FuncOp function);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_PARTITION_FARADDENDS_H
