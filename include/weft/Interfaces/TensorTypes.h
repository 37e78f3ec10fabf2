// Bytes of tensors, and their types without what passes add to them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_TENSORTYPES_H
#define WEFT_INTERFACES_TENSORTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace weft {

/// Bytes of one element of a tensor, or of a number: a boolean takes one, an index eight.
inline int64_t elementBytes(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 8;
}

/// Bytes of a tensor or memref of static shape.
inline int64_t bytesOf(mlir::ShapedType type) { return type.getNumElements() * elementBytes(type); }
inline int64_t bytesOf(mlir::Value value) {
  return bytesOf(llvm::cast<mlir::ShapedType>(value.getType()));
}

/// The tensor type without its encoding (a placement).
inline mlir::RankedTensorType withoutEncoding(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return mlir::RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

/// In the body of a kernel integers have no sign: ops know how they read them.
inline mlir::Type signlessElement(mlir::Type type) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  return integer ? mlir::IntegerType::get(type.getContext(), integer.getWidth()) : type;
}
/// The tensor type there: without encoding and signs.
inline mlir::RankedTensorType bodyType(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return mlir::RankedTensorType::get(tensor.getShape(), signlessElement(tensor.getElementType()));
}

} // namespace weft

#endif // WEFT_INTERFACES_TENSORTYPES_H
