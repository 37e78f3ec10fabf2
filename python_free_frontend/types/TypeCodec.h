// Type messages of the file format to MLIR types, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TYPES_TYPECODEC_H
#define WEFT_PYTHON_FREE_FRONTEND_TYPES_TYPECODEC_H

#include "dialects/onnx/IR/Onnx.h"
#include "onnx.pb.h"
#include "llvm/ADT/StringMap.h"

namespace weft::onnx {

/// The MLIR element type of a data type's number; null if there is none.
mlir::Type decodeElementType(mlir::MLIRContext *context, int dataType);

/// The inverse; UNDEFINED for types that no number stands for.
Tensor::DataType encodeElementType(mlir::Type type);

/// Reads type messages. Each type is written back and compared, so that a
/// message with anything that our types cannot say becomes an !onnx.wire.
class TypeDecoder {
public:
  explicit TypeDecoder(mlir::MLIRContext *context) : context(context) {}
  mlir::Type decode(const weft::onnx::Type &message);

private:
  mlir::MLIRContext *context;
  llvm::StringMap<mlir::Type> known;
};

/// Writes `type` as a message; false if it is not a type of a file.
bool encodeType(mlir::Type type, weft::onnx::Type &message);

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_TYPES_TYPECODEC_H
