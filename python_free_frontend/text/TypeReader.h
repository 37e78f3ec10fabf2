// Reads types and tensor data of the ONNX text syntax.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_TYPEREADER_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_TYPEREADER_H

#include "onnx.pb.h"
#include "python_free_frontend/text/TextCursor.h"

namespace weft::text {

/// Graphs and types may nest this deep; far above what models do, far below
/// what the stack holds.
constexpr unsigned kDeepest = 64;

/// A type starts at the cursor.
bool typeFollows(TextCursor &cursor);
bool readType(TextCursor &cursor, onnx::Type &type, unsigned depth);

/// Reads "{...}" or external data "[...]" into `tensor`, whose type `type` was
/// read before and begins at `where`.
bool readTensorData(TextCursor &cursor, const onnx::Type &type, size_t where, onnx::Tensor &tensor);

/// Reads `"key": "value"` pairs up to ']'.
bool readEntries(TextCursor &cursor,
                 google::protobuf::RepeatedPtrField<onnx::StringStringEntry> &pairs);

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_TYPEREADER_H
