// Element access and rounding of host tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/HostTensor.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace weft {

HostTensor::HostTensor(RankedTensorType type)
    : shape(type.getShape()), elementType(type.getElementType()) {
  if (isFloat())
    reals.resize(type.getNumElements());
  else
    integers.resize(type.getNumElements());
}

int64_t HostTensor::size() const { return isFloat() ? reals.size() : integers.size(); }

Scalar HostTensor::at(int64_t linear) const {
  Scalar value;
  if (isFloat())
    value.real = reals[linear];
  else
    value.integer = integers[linear];
  return value;
}

void HostTensor::set(int64_t linear, Scalar value) {
  if (isFloat())
    reals[linear] = value.real;
  else
    integers[linear] = value.integer;
}

Scalar roundToType(Scalar value, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    if (floatType.isF64())
      return value;
    llvm::APFloat rounded(value.real);
    bool losesInfo;
    rounded.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                    &losesInfo);
    rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                    &losesInfo);
    value.real = rounded.convertToDouble();
    return value;
  }
  auto integerType = cast<IntegerType>(type);
  unsigned width = integerType.getWidth();
  if (width == 1) {
    value.integer = value.integer != 0;
  } else if (width < 64) {
    uint64_t bits = static_cast<uint64_t>(value.integer) << (64 - width);
    value.integer = integerType.isUnsigned() ? static_cast<int64_t>(bits >> (64 - width))
                                             : static_cast<int64_t>(bits) >> (64 - width);
  }
  return value;
}

SmallVector<int64_t, 4> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

} // namespace weft
