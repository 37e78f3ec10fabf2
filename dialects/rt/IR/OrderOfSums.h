// Which commands need not have the same bits in every run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_ORDEROFSUMS_H
#define WEFT_DIALECTS_RT_IR_ORDEROFSUMS_H

#include "mlir/Support/LLVM.h"

namespace weft::rt {

/// Of a command whose library may add up as its parts end, so that runs differ in bits: what a
/// model says instead to have the same in every run. Of all others nothing.
llvm::StringRef orderedFormOf(mlir::Operation *command);

} // namespace weft::rt

#endif // WEFT_DIALECTS_RT_IR_ORDEROFSUMS_H
