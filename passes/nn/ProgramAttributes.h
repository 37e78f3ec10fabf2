// What the attributes of programs hold, in one table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_PROGRAMATTRIBUTES_H
#define WEFT_PASSES_NN_PROGRAMATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// Checks the attributes of `nn` that stand on arguments, results and ops of the function, each by
/// itself: whether there is such an attribute, and whether it is of its kind. Passes read them
/// without asking again. Fails with an error at each place that is wrong.
llvm::LogicalResult verifyProgramAttributes(mlir::func::FuncOp function);

} // namespace weft

#endif // WEFT_PASSES_NN_PROGRAMATTRIBUTES_H
