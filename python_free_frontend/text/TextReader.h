// Reads models in the ONNX text syntax.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTREADER_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTREADER_H

#include "onnx.pb.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace weft::text {

/// Reads a model. The error is "fileName:line:column: ..." with what was
/// expected. Text may come from anyone: time is linear in its length, nesting
/// is limited, and every number is checked against its type.
llvm::Expected<onnx::Model> readText(llvm::StringRef text, llvm::StringRef fileName);

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTREADER_H
