// Helpers of the reference methods of nn, and the references of layout ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnReference.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnElementwise.h"

using namespace mlir;

namespace weft::nn {

void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> function) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    function(index);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    for (; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
    if (dim < 0)
      return;
  }
}

int64_t linearIndex(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t linear = 0;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    linear += i * stride;
  return linear;
}

/// Rows of the innermost dim are copied in a plain loop: transposes of weights
/// are most of what the oracle moves.
template <typename T>
static void copyStrided(const T *from, std::vector<T> &to, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> strides, int64_t offset) {
  T *next = to.data();
  if (shape.empty()) {
    *next = from[offset];
    return;
  }
  int64_t size = shape.back(), step = strides.back();
  forEachIndex(shape.drop_back(), [&](ArrayRef<int64_t> index) {
    const T *row = from + offset + linearIndex(index, strides.drop_back());
    for (int64_t i = 0; i < size; ++i)
      *next++ = row[i * step];
  });
}

HostTensor readStrided(const HostTensor &operand, RankedTensorType type, ArrayRef<int64_t> strides,
                       int64_t offset) {
  HostTensor result(type);
  if (result.size() == 0)
    return result;
  if (result.isFloat())
    copyStrided(operand.reals.data(), result.reals, type.getShape(), strides, offset);
  else
    copyStrided(operand.integers.data(), result.integers, type.getShape(), strides, offset);
  return result;
}

HostTensor filled(RankedTensorType type, Scalar value) {
  HostTensor result(type);
  std::fill(result.reals.begin(), result.reals.end(), value.real);
  std::fill(result.integers.begin(), result.integers.end(), value.integer);
  return result;
}

//===----------------------------------------------------------------------===//
// Layout ops
//===----------------------------------------------------------------------===//

SmallVector<HostTensor> ConstantOp::evaluate(ArrayRef<HostTensor>) {
  return {toHostTensor(getValue())};
}

SmallVector<HostTensor> IotaOp::evaluate(ArrayRef<HostTensor>) {
  HostTensor result(getType());
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.set(i, roundToType({static_cast<double>(i), i}, result.elementType));
  return {std::move(result)};
}

SmallVector<HostTensor> BroadcastOp::evaluate(ArrayRef<HostTensor> operands) {
  SmallVector<int64_t> strides(getType().getRank(), 0);
  for (auto [dim, stride] : llvm::zip_equal(getDims(), rowMajorStrides(operands[0].shape)))
    strides[dim] = stride;
  return {readStrided(operands[0], getType(), strides)};
}

SmallVector<HostTensor> ReshapeOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = operands[0];
  result.shape.assign(getType().getShape().begin(), getType().getShape().end());
  return {std::move(result)};
}

SmallVector<HostTensor> TransposeOp::evaluate(ArrayRef<HostTensor> operands) {
  auto operandStrides = rowMajorStrides(operands[0].shape);
  SmallVector<int64_t> strides;
  for (int64_t dim : getPermutation())
    strides.push_back(operandStrides[dim]);
  return {readStrided(operands[0], getType(), strides)};
}

SmallVector<HostTensor> ReverseOp::evaluate(ArrayRef<HostTensor> operands) {
  auto strides = rowMajorStrides(operands[0].shape);
  int64_t offset = 0;
  for (int64_t dim : getDims()) {
    offset += (operands[0].shape[dim] - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  return {readStrided(operands[0], getType(), strides, offset)};
}

SmallVector<HostTensor> SliceOp::evaluate(ArrayRef<HostTensor> operands) {
  auto strides = rowMajorStrides(operands[0].shape);
  int64_t offset = linearIndex(getStarts(), strides);
  for (auto [stride, step] : llvm::zip_equal(strides, getStrides()))
    stride *= step;
  return {readStrided(operands[0], getType(), strides, offset)};
}

/// Writes `part` as a box of `whole` that begins at `starts`.
static void writeBox(HostTensor &whole, const HostTensor &part, ArrayRef<int64_t> starts) {
  auto strides = rowMajorStrides(whole.shape);
  int64_t offset = linearIndex(starts, strides), linear = 0;
  forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
    whole.set(offset + linearIndex(index, strides), part.at(linear++));
  });
}

SmallVector<HostTensor> ConcatOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  SmallVector<int64_t> starts(getType().getRank(), 0);
  for (const HostTensor &operand : operands) {
    writeBox(result, operand, starts);
    starts[getDim()] += operand.shape[getDim()];
  }
  return {std::move(result)};
}

SmallVector<HostTensor> PadOp::evaluate(ArrayRef<HostTensor> operands) {
  auto scalarType = RankedTensorType::get({}, getType().getElementType());
  HostTensor value = toHostTensor(DenseElementsAttr::get(scalarType, Attribute(getValue())));
  HostTensor result = filled(getType(), value.at(0));
  writeBox(result, operands[0], getLow());
  return {std::move(result)};
}

} // namespace weft::nn
