// Errors that only a late pass can see, and for which a model or a flag is to blame.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/InputError.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// What the metadata of such an error holds.
static constexpr llvm::StringLiteral kMark = "weft.input";

InFlightDiagnostic weft::emitInputError(Operation *op) {
  InFlightDiagnostic error = op->emitError();
  error.getUnderlyingDiagnostic()->getMetadata().emplace_back(kMark);
  return error;
}

bool weft::isInputError(Diagnostic &diagnostic) {
  using Kind = DiagnosticArgument::DiagnosticArgumentKind;
  return llvm::any_of(diagnostic.getMetadata(), [](const DiagnosticArgument &argument) {
    return argument.getKind() == Kind::String && argument.getAsString() == kMark;
  });
}
