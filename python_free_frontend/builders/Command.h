// The --build command line of weft-translate.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_BUILDERS_COMMAND_H
#define WEFT_BUILDERS_COMMAND_H

#include <optional>

namespace weft::builders {

/// Serves `--build KIND:key=value,... [--no-weights] -o FILE.onnx` and
/// `--build-help`. Returns the exit code (0 ok, 1 user error, 2 usage), or
/// nothing when the command line asks for neither.
std::optional<int> runBuildCommand(int argc, const char *const *argv);

} // namespace weft::builders

#endif // WEFT_BUILDERS_COMMAND_H
