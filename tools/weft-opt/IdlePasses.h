// Tells of passes that had nothing to run on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_OPT_IDLEPASSES_H
#define WEFT_TOOLS_WEFT_OPT_IDLEPASSES_H

#include "mlir/Pass/PassInstrumentation.h"

#include <memory>

namespace weft {

/// Warns of `func.func(...)` in a pipeline where the program has no function, as a
/// model as in the file has none: MLIR passes over it in silence.
std::unique_ptr<mlir::PassInstrumentation> tellOfIdlePasses();

} // namespace weft

#endif // WEFT_TOOLS_WEFT_OPT_IDLEPASSES_H
