// The command lines of weft-translate between model files and the `onnx`
// dialect. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_FRONTEND_TRANSLATE_COMMAND_H
#define WEFT_FRONTEND_TRANSLATE_COMMAND_H

#include <optional>

namespace weft::onnx {

/// Serves `--onnx-to-mlir FILE [--inline-data] [--allow-missing-data] [-o OUT]`
/// and `--mlir-to-onnx FILE [-o OUT]`, also called `--export-onnx`. Returns the
/// exit code (0 ok, 1 user error, 2 usage), or nothing when the command line
/// asks for neither.
std::optional<int> runTranslateCommand(int argc, const char *const *argv);

} // namespace weft::onnx

#endif // WEFT_FRONTEND_TRANSLATE_COMMAND_H
