// Ops whose work is not that of their factor rule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNWORK_H
#define WEFT_DIALECTS_NN_IR_NNWORK_H

#include "mlir/IR/MLIRContext.h"

namespace weft::nn {

/// Attaches WorkOpInterface, when the dialect is registered.
void attachWork(mlir::MLIRContext &context);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNWORK_H
