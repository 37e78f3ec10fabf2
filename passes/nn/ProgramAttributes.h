// What the attributes of programs hold, in one table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_NN_PROGRAMATTRIBUTES_H
#define WEFT_PASSES_NN_PROGRAMATTRIBUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// Checks the attributes of `nn` that stand on the function, which has one block and returns, on
/// its arguments, results and ops, each by itself: whether there is such an attribute there, and
/// whether it is of its kind. Passes read them without asking again. Fails with an error at each
/// place that is wrong.
llvm::LogicalResult verifyProgramAttributes(mlir::func::FuncOp function);
/// The same for what stands on the module itself.
llvm::LogicalResult verifyProgramAttributes(mlir::ModuleOp module);

/// Where errors about a result stand: at the value that is returned.
mlir::Location resultLocation(mlir::func::FuncOp function, unsigned number);

} // namespace weft

#endif // WEFT_PASSES_NN_PROGRAMATTRIBUTES_H
