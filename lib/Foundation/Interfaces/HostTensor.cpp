// Element access and rounding of host tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/HostTensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cstring>

using namespace mlir;

namespace weft {

HostTensor::HostTensor(RankedTensorType type)
    : shape(type.getShape()), elementType(type.getElementType()) {
  if (isFloat())
    reals.resize(type.getNumElements());
  else
    integers.resize(type.getNumElements());
}

// Which of the two there are is seen by them: to ask the type of each element takes longer than all
// else that is done with it.
int64_t HostTensor::size() const { return reals.empty() ? integers.size() : reals.size(); }

Scalar HostTensor::at(int64_t linear) const {
  Scalar value;
  if (integers.empty())
    value.real = reals[linear];
  else
    value.integer = integers[linear];
  return value;
}

void HostTensor::set(int64_t linear, Scalar value) {
  if (integers.empty())
    reals[linear] = value.real;
  else
    integers[linear] = value.integer;
}

Scalar roundToType(Scalar value, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    if (floatType.isF64())
      return value;
    if (floatType.isF32()) {
      value.real = static_cast<float>(value.real);
      return value;
    }
    llvm::APFloat rounded(value.real);
    bool losesInfo;
    rounded.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
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

void roundToOwnType(HostTensor &tensor) {
  Type type = tensor.elementType;
  if (type.isF64() || type.isInteger(64))
    return;
  if (type.isF32()) {
    for (double &value : tensor.reals)
      value = static_cast<float>(value);
    return;
  }
  // Asked of the type once, not of each element: masks have millions.
  if (type.isInteger(1)) {
    for (int64_t &value : tensor.integers)
      value = value != 0;
    return;
  }
  for (int64_t i = 0, e = tensor.size(); i < e; ++i)
    tensor.set(i, roundToType(tensor.at(i), type));
}

static double toDouble(llvm::APFloat value) {
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

static int64_t toInt64(const llvm::APInt &value, IntegerType type) {
  return type.isUnsigned() || type.getWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                                   : value.getSExtValue();
}

/// Copies elements of a type that C++ has, as `Native`; false if they are not kept densely.
template <typename Native, typename Slot>
static bool copyNative(ElementsAttr elements, std::vector<Slot> &slots) {
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense)
    return false;
  llvm::copy(dense.getValues<Native>(), slots.begin());
  return true;
}

HostTensor toHostTensor(ElementsAttr elements) {
  HostTensor tensor(cast<RankedTensorType>(elements.getShapedType()));
  Type element = tensor.elementType;
  if ((element.isF32() && copyNative<float>(elements, tensor.reals)) ||
      (element.isF64() && copyNative<double>(elements, tensor.reals)) ||
      (element.isSignlessInteger(64) && copyNative<int64_t>(elements, tensor.integers)) ||
      (element.isSignlessInteger(32) && copyNative<int32_t>(elements, tensor.integers)) ||
      (element.isInteger(1) && copyNative<bool>(elements, tensor.integers)))
    return tensor;
  if (tensor.isFloat()) {
    if (elements.isSplat())
      std::fill(tensor.reals.begin(), tensor.reals.end(),
                toDouble(elements.getSplatValue<llvm::APFloat>()));
    else
      for (auto [slot, value] : llvm::zip_equal(tensor.reals, elements.getValues<llvm::APFloat>()))
        slot = toDouble(value);
    return tensor;
  }
  auto type = cast<IntegerType>(tensor.elementType);
  if (elements.isSplat())
    std::fill(tensor.integers.begin(), tensor.integers.end(),
              toInt64(elements.getSplatValue<llvm::APInt>(), type));
  else
    for (auto [slot, value] : llvm::zip_equal(tensor.integers, elements.getValues<llvm::APInt>()))
      slot = toInt64(value, type);
  return tensor;
}

DenseElementsAttr toElementsAttr(const HostTensor &tensor) {
  auto type = RankedTensorType::get(tensor.shape, tensor.elementType);
  int64_t count = tensor.size();
  // One element or many equal ones are one value; -0.0 differs from 0.0.
  bool splat = count > 0;
  for (int64_t i = 1; splat && i < count; ++i)
    splat = tensor.isFloat() ? llvm::bit_cast<uint64_t>(tensor.reals[i]) ==
                                   llvm::bit_cast<uint64_t>(tensor.reals[0])
                             : tensor.integers[i] == tensor.integers[0];
  int64_t stored = splat ? 1 : count;
  if (auto floatType = dyn_cast<FloatType>(tensor.elementType)) {
    if (floatType.isF64())
      return DenseElementsAttr::get(type, llvm::ArrayRef(tensor.reals).take_front(stored));
    if (floatType.isF32()) {
      std::vector<float> values(tensor.reals.begin(), tensor.reals.begin() + stored);
      return DenseElementsAttr::get(type, llvm::ArrayRef(values));
    }
    std::vector<llvm::APFloat> values;
    values.reserve(stored);
    for (int64_t i = 0; i < stored; ++i) {
      llvm::APFloat value(tensor.reals[i]);
      bool losesInfo;
      value.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(value);
    }
    return DenseElementsAttr::get(type, values);
  }
  unsigned width = cast<IntegerType>(tensor.elementType).getWidth();
  if (tensor.elementType.isSignlessInteger(64))
    return DenseElementsAttr::get(type, llvm::ArrayRef(tensor.integers).take_front(stored));
  if (width == 1) {
    llvm::SmallVector<bool> values(tensor.integers.begin(), tensor.integers.begin() + stored);
    return DenseElementsAttr::get(type, llvm::ArrayRef(values));
  }
  std::vector<llvm::APInt> values;
  values.reserve(stored);
  for (int64_t i = 0; i < stored; ++i)
    values.emplace_back(width, static_cast<uint64_t>(tensor.integers[i]), /*isSigned=*/false,
                        /*implicitTrunc=*/true);
  return DenseElementsAttr::get(type, values);
}

HostTensor decodeHostTensor(RankedTensorType type, llvm::ArrayRef<char> bytes) {
  HostTensor tensor(type);
  Type element = type.getElementType();
  unsigned width = element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
  assert(width % 8 == 0 && width <= 64 && "no packed types");
  assert(bytes.size() == static_cast<size_t>(tensor.size()) * (width / 8) && "wrong length");
  if (element.isInteger(1)) {
    llvm::transform(bytes, tensor.integers.begin(), [](char byte) { return byte != 0; });
    return tensor;
  }
  for (int64_t i = 0, e = tensor.size(); i < e; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * (width / 8), width / 8);
    if (auto floatType = dyn_cast<FloatType>(element))
      tensor.reals[i] =
          toDouble(llvm::APFloat(floatType.getFloatSemantics(), llvm::APInt(width, bits)));
    else
      tensor.integers[i] = roundToType({0, static_cast<int64_t>(bits)}, element).integer;
  }
  return tensor;
}

SmallVector<int64_t, 4> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

} // namespace weft
