// The axes of the mesh that a module has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_MESHAXES_H
#define WEFT_DIALECTS_RT_IR_MESHAXES_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace weft::rt {

/// Devices along the axis of that name, in the mesh of the module that `op` is in; nothing if there
/// is none.
std::optional<int64_t> axisSize(mlir::Operation *op, llvm::StringRef axis);

/// Stages of a pipeline that the mesh of the module that `op` is in has; nothing where it has no
/// axis of stages.
std::optional<int64_t> numStages(mlir::Operation *op);

} // namespace weft::rt

#endif // WEFT_DIALECTS_RT_IR_MESHAXES_H
