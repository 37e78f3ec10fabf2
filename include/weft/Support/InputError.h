// Errors that only a late pass can see, and for which a model or a flag is to blame.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_INPUTERROR_H
#define WEFT_SUPPORT_INPUTERROR_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace weft {

/// Begins such an error at the op. Without the mark, what passes behind `staged` report is taken
/// for a fault of the compiler (Compilation::compilerIsToBlame), with another exit code.
mlir::InFlightDiagnostic emitInputError(mlir::Operation *op);

/// Whether a diagnostic has the mark.
bool isInputError(mlir::Diagnostic &diagnostic);

} // namespace weft

#endif // WEFT_SUPPORT_INPUTERROR_H
