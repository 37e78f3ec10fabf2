// Errors of two ops that do not fit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_RT_IR_MISFIT_H
#define WEFT_DIALECTS_RT_IR_MISFIT_H

#include "mlir/IR/Operation.h"

namespace weft::rt {

/// An error at an op, which whoever calls goes on to say, with a note at what it does not fit.
inline mlir::InFlightDiagnostic misfit(mlir::Operation *op, mlir::Operation *other) {
  mlir::InFlightDiagnostic diagnostic = op->emitOpError();
  diagnostic.attachNote(other->getLoc()) << "it does not fit this";
  return diagnostic;
}

} // namespace weft::rt

#endif // WEFT_DIALECTS_RT_IR_MISFIT_H
