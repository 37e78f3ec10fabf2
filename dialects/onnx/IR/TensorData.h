// The elements of an #onnx.tensor, wherever and however they are stored.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_ONNX_IR_TENSORDATA_H
#define WEFT_DIALECTS_ONNX_IR_TENSORDATA_H

#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace weft::onnx {

/// Reports an error found while reading; returns a diagnostic to stream into.
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Bits of one element as stored in a file: 1 byte for a bool, 4 bits for an
/// int4, 0 for strings and other types without a fixed size.
unsigned getStoredBits(mlir::Type element);

/// Bytes of all elements of `type` in the layout of the field `raw`, or none
/// if the number is not known, not fixed or too large for an int64.
std::optional<int64_t> getStoredBytes(mlir::RankedTensorType type);

/// True if the elements are `length` plain little-endian bytes in a file, that
/// is, if they can be mapped and used where they are.
bool isPlainFileData(TensorAttr tensor);

/// The files that hold elements of the tensors of `model`, sorted.
std::vector<std::string> dataFilesOf(mlir::ModuleOp model);

/// The payload as the entries of its field: little-endian, 1 byte each for
/// `raw`, 4 for `float` and `int32`, 8 for the others.
struct Payload {
  DataField field = DataField::Raw;
  llvm::SmallVector<char, 0> bytes;
};

/// Reads the payload as it stands, external or not; empty if there is none.
mlir::FailureOr<Payload> readPayload(TensorAttr tensor, EmitError emitError);

/// Reads the elements as little-endian, row-major bytes, types under 8 bits
/// packed (the layout of the field `raw`). Fails, having reported why, if the
/// file cannot be read, if its size is wrong or the elements are strings.
mlir::FailureOr<llvm::SmallVector<char, 0>> readTensor(TensorAttr tensor, EmitError emitError);

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_IR_TENSORDATA_H
