// What --onnx-to-text and --text-to-onnx of weft-translate do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_COMMAND_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_COMMAND_H

#include "weft/Support/Outcome.h"
#include "llvm/Support/Error.h"

namespace weft::text {

/// Converts the model file `input` to text, or back; "-" are the standard streams.
llvm::Expected<Outcome> runText(bool toText, const std::string &input, const std::string &output);

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_COMMAND_H
