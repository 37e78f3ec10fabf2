// Numbers, strings and tensor data in the ONNX text syntax.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_TENSORTEXT_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_TENSORTEXT_H

#include "onnx.pb.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace weft::text {

/// The shortest decimal that reads back to the same bits.
void writeFloat(float value, llvm::raw_ostream &os);
void writeDouble(double value, llvm::raw_ostream &os);
/// Quotes `text`; a quote or backslash in it gets a backslash.
void writeQuoted(llvm::StringRef text, llvm::raw_ostream &os);

/// Writes "{...}"; returns what is wrong with the tensor, or nothing.
std::string writeTensorData(const onnx::Tensor &tensor, llvm::raw_ostream &os);

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_TENSORTEXT_H
