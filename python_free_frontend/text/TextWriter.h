// Writes models in the ONNX text syntax.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTWRITER_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTWRITER_H

#include "onnx.pb.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::text {

/// Writes `model` to `os`. What the syntax cannot say is left out; ask
/// `findOmissions` for it. Fails for a tensor whose data does not fit its shape,
/// as no text would read back as it.
llvm::Error writeText(const onnx::Model &model, llvm::raw_ostream &os);

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_TEXTWRITER_H
