// What --build of weft-translate does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_COMMAND_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_COMMAND_H

#include "python_free_frontend/builders/Builders.h"

namespace weft::builders {

/// Builds the model that `spec` asks for and tells on stderr what was written, or what is wrong.
/// Returns the exit code, 0 or 1.
int runBuild(llvm::StringRef spec, const BuildOptions &options);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_COMMAND_H
