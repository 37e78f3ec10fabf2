// Which ops add their operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_SUM_H
#define WEFT_INTERFACES_SUM_H

#include "mlir/IR/Operation.h"

namespace weft {

/// Whether the op adds two tensors of floats.
bool isSum(mlir::Operation *op);

} // namespace weft

#endif // WEFT_INTERFACES_SUM_H
