// What weft-compile tells of what passes say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_MESSAGES_H
#define WEFT_LIB_DRIVER_MESSAGES_H

#include "weft/Driver/Options.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/IR/MLIRContext.h"

namespace weft::driver {

/// Hears the diagnostics of a context from here on, and counts errors.
class Messages {
public:
  Messages(mlir::MLIRContext &context, const Options &options);

  /// The exit code of a compilation that failed; tells if nobody has been told why.
  int failed(bool compilerIsToBlame) const;

private:
  /// Whether a diagnostic needs no further handler.
  bool hears(mlir::Diagnostic &diagnostic);
  /// The error of one program that another one has just had: it is told once.
  bool isRepeated(mlir::Diagnostic &diagnostic);

  const Options &options;
  DiagnosticHandler diagnostics;
  unsigned errors = 0, inputErrors = 0;
  std::string last;
};

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_MESSAGES_H
