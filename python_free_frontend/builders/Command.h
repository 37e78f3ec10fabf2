// What --build of weft-translate does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_COMMAND_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_COMMAND_H

#include "python_free_frontend/builders/Builders.h"
#include "weft/Support/Outcome.h"

namespace weft::builders {

/// Builds the model that `spec` asks for; the outcome is what was written.
llvm::Expected<Outcome> runBuild(llvm::StringRef spec, const BuildOptions &options);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_COMMAND_H
