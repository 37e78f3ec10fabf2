// The --onnx-to-text and --text-to-onnx command lines of weft-translate.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEXT_COMMAND_H
#define WEFT_TEXT_COMMAND_H

#include <optional>

namespace weft::text {

/// Serves `--onnx-to-text [FILE.onnx] [-o FILE]` and `--text-to-onnx [FILE]
/// [-o FILE.onnx]`; "-" and no name are the standard streams. Returns the exit
/// code (0 ok, 1 user error, 2 usage), or nothing when asked for neither.
std::optional<int> runTextCommand(int argc, const char *const *argv);

} // namespace weft::text

#endif // WEFT_TEXT_COMMAND_H
