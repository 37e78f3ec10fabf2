// References of reductions, windows, scans and orders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnElementwise.h"
#include "dialects/nn/IR/NnReference.h"

#include <numeric>

using namespace mlir;

namespace weft::nn {

/// Total order of elements: NaN is greater than all else.
static bool isLess(Type type, Scalar a, Scalar b) {
  if (isFloat(type))
    return std::isnan(b.real) ? !std::isnan(a.real) : a.real < b.real;
  if (isUnsigned(type))
    return static_cast<uint64_t>(a.integer) < static_cast<uint64_t>(b.integer);
  return a.integer < b.integer;
}

/// The extent of `dim`, the number of elements between neighbours along it, and
/// a call of `function` with the first element of each row.
static void forEachRow(ArrayRef<int64_t> shape, int64_t dim,
                       llvm::function_ref<void(int64_t first, int64_t stride)> function) {
  int64_t inner = 1, outer = 1;
  for (int64_t size : shape.drop_front(dim + 1))
    inner *= size;
  for (int64_t size : shape.take_front(dim))
    outer *= size;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      function(o * shape[dim] * inner + i, inner);
}

SmallVector<HostTensor> ReduceOp::evaluate(ArrayRef<HostTensor> operands) {
  Type element = getType().getElementType();
  HostTensor result = filled(getType(), neutralElement(getKind(), element));
  auto resultStrides = rowMajorStrides(result.shape);
  // Reduced dims do not move the result.
  SmallVector<int64_t> strides;
  int64_t kept = 0, linear = 0;
  for (int64_t dim = 0, e = operands[0].shape.size(); dim < e; ++dim)
    strides.push_back(llvm::is_contained(getDims(), dim) ? 0 : resultStrides[kept++]);
  forEachIndex(operands[0].shape, [&](ArrayRef<int64_t> index) {
    int64_t at = linearIndex(index, strides);
    result.set(at, combine(getKind(), result.at(at), operands[0].at(linear++), element));
  });
  return {std::move(result)};
}

SmallVector<HostTensor> ArgReduceOp::evaluate(ArrayRef<HostTensor> operands) {
  const HostTensor &operand = operands[0];
  Type element = operand.elementType;
  HostTensor result(getType());
  int64_t size = operand.shape[getDim()], row = 0;
  auto isNan = [&](Scalar x) { return isFloat(element) && std::isnan(x.real); };
  auto wins = [&](Scalar challenger, Scalar best) {
    if (isNan(challenger) || isNan(best))
      return isNan(challenger) && (!isNan(best) || getSelectLast());
    bool better = getKind() == ReduceKind::Max ? isLess(element, best, challenger)
                                               : isLess(element, challenger, best);
    bool equal = !isLess(element, best, challenger) && !isLess(element, challenger, best);
    return better || (equal && getSelectLast());
  };
  forEachRow(operand.shape, getDim(), [&](int64_t first, int64_t stride) {
    int64_t best = 0;
    for (int64_t i = 1; i < size; ++i)
      if (wins(operand.at(first + i * stride), operand.at(first + best * stride)))
        best = i;
    result.set(row++, integerScalar(best));
  });
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Calls `function` with each result element and each element of its window
/// that is no padding: linear result, linear operand, and index in the windowed
/// dims.
template <typename Op>
static void
forEachWindowElement(Op op, ArrayRef<int64_t> operandShape,
                     llvm::function_ref<void(int64_t, int64_t, ArrayRef<int64_t>)> function) {
  int64_t leading = operandShape.size() - op.getWindow().size(), linear = 0;
  auto strides = rowMajorStrides(operandShape);
  SmallVector<int64_t> at(op.getWindow().size());
  forEachIndex(op.getType().getShape(), [&](ArrayRef<int64_t> out) {
    int64_t base = linearIndex(out.take_front(leading), ArrayRef(strides).take_front(leading));
    forEachIndex(op.getWindow(), [&](ArrayRef<int64_t> offset) {
      for (auto [i, o] : llvm::enumerate(offset)) {
        at[i] =
            out[leading + i] * op.getStrides()[i] + o * op.getDilations()[i] - op.getPadLow()[i];
        if (at[i] < 0 || at[i] >= operandShape[leading + i])
          return;
      }
      function(linear, base + linearIndex(at, ArrayRef(strides).drop_front(leading)), at);
    });
    ++linear;
  });
}

SmallVector<HostTensor> ReduceWindowOp::evaluate(ArrayRef<HostTensor> operands) {
  Type element = getType().getElementType();
  HostTensor result = filled(getType(), neutralElement(getKind(), element));
  forEachWindowElement(*this, operands[0].shape, [&](int64_t out, int64_t in, ArrayRef<int64_t>) {
    result.set(out, combine(getKind(), result.at(out), operands[0].at(in), element));
  });
  return {std::move(result)};
}

SmallVector<HostTensor> ArgWindowOp::evaluate(ArrayRef<HostTensor> operands) {
  const HostTensor &operand = operands[0];
  ArrayRef<int64_t> windowed = ArrayRef(operand.shape).take_back(getWindow().size());
  SmallVector<int64_t> strides(windowed.size(), 1);
  if (getColumnMajor()) {
    for (size_t i = 1; i < strides.size(); ++i)
      strides[i] = strides[i - 1] * windowed[i - 1];
  } else {
    strides.assign(rowMajorStrides(windowed));
  }
  // A window that is all padding keeps index 0.
  HostTensor result(getType());
  std::vector<int64_t> best(result.size(), -1);
  forEachWindowElement(*this, operand.shape, [&](int64_t out, int64_t in, ArrayRef<int64_t> at) {
    if (best[out] < 0 || isLess(operand.elementType, operand.at(best[out]), operand.at(in))) {
      best[out] = in;
      result.set(out, integerScalar(linearIndex(at, strides)));
    }
  });
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// scan, top_k
//===----------------------------------------------------------------------===//

SmallVector<HostTensor> ScanOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  Type element = getType().getElementType();
  int64_t size = result.shape[getDim()];
  forEachRow(result.shape, getDim(), [&](int64_t first, int64_t stride) {
    Scalar running = neutralElement(getKind(), element);
    for (int64_t i = 0; i < size; ++i) {
      int64_t at = first + (getReverse() ? size - 1 - i : i) * stride;
      Scalar before = running;
      running = combine(getKind(), running, operands[0].at(at), element);
      result.set(at, getExclusive() ? before : running);
    }
  });
  return {std::move(result)};
}

SmallVector<HostTensor> TopKOp::evaluate(ArrayRef<HostTensor> operands) {
  const HostTensor &operand = operands[0];
  HostTensor values(getValues().getType()), indices(getIndices().getType());
  int64_t size = operand.shape[getDim()], count = values.shape[getDim()];
  SmallVector<SmallVector<int64_t>> orders;
  forEachRow(operand.shape, getDim(), [&](int64_t first, int64_t stride) {
    auto &order = orders.emplace_back(llvm::to_vector(llvm::seq<int64_t>(0, size)));
    llvm::sort(order, [&](int64_t a, int64_t b) {
      Scalar x = operand.at(first + a * stride), y = operand.at(first + b * stride);
      if (getSmallest())
        std::swap(x, y);
      bool less = isLess(operand.elementType, y, x), greater = isLess(operand.elementType, x, y);
      return less || (!greater && a < b);
    });
    for (int64_t &i : order)
      i = first + i * stride;
  });
  int64_t row = 0;
  forEachRow(values.shape, getDim(), [&](int64_t first, int64_t stride) {
    ArrayRef<int64_t> order = orders[row++];
    for (int64_t i = 0; i < count; ++i) {
      values.set(first + i * stride, operand.at(order[i]));
      indices.set(first + i * stride, integerScalar(order[i] / stride % size));
    }
  });
  return {std::move(values), std::move(indices)};
}

} // namespace weft::nn
