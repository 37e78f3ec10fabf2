// What --onnx-to-mlir and --mlir-to-onnx of weft-translate do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TRANSLATE_COMMAND_H
#define WEFT_PYTHON_FREE_FRONTEND_TRANSLATE_COMMAND_H

#include "python_free_frontend/importer/Importer.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weft::onnx {

struct TranslateOptions {
  bool toText = false;    // from a model file to the `onnx` dialect, not back
  bool locations = false; // printed in the text
  std::string input, output = "-";
  ImportOptions import;
};

/// Whether it was done; false where diagnostics at nodes of the model have told on stderr why not.
llvm::Expected<bool> runTranslate(const TranslateOptions &options);

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_TRANSLATE_COMMAND_H
