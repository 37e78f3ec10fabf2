// A tensor on the host in the oracle's precision: fp64, or exact integers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INTERFACES_HOSTTENSOR_H
#define WEFT_INTERFACES_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <vector>

namespace weft {

/// One element: floats as `real`, integers and booleans as `integer` (uint64
/// as its bit pattern). Only the member of the element type is meaningful.
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

/// Row-major values of a tensor. Values of a low-precision element type are
/// kept as the fp64 numbers that the type can represent (see roundToType).
struct HostTensor {
  llvm::SmallVector<int64_t, 4> shape;
  mlir::Type elementType;
  std::vector<double> reals;     // when elementType is a float
  std::vector<int64_t> integers; // when it is an integer or bool

  HostTensor() = default;
  explicit HostTensor(mlir::RankedTensorType type);

  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType); }
  int64_t size() const;
  Scalar at(int64_t linear) const;
  void set(int64_t linear, Scalar value);
};

/// The nearest value that `type` can represent: floats round to nearest even,
/// integers wrap.
Scalar roundToType(Scalar value, mlir::Type type);

/// Rounds every element to the tensor's element type.
void roundToOwnType(HostTensor &tensor);

/// The values of a constant, and back. Splats stay compact as attributes only.
HostTensor toHostTensor(mlir::ElementsAttr elements);
mlir::DenseElementsAttr toElementsAttr(const HostTensor &tensor);

/// Decodes little-endian row-major elements, a bool one byte each; `bytes` must
/// have the length that `type` asks for. No type of less than 8 bits but bool.
HostTensor decodeHostTensor(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);

/// Row-major strides, in elements.
llvm::SmallVector<int64_t, 4> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace weft

#endif // WEFT_INTERFACES_HOSTTENSOR_H
