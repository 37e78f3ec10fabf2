// References of matrix products and convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnReference.h"

using namespace mlir;

namespace weft::nn {

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

/// c[m,n] += sum_k a[m,k] b[k,n], in blocks of b that stay in cache, four rows
/// of it at a time. Integers wrap: they come as uint64_t.
template <typename T>
static void accumulateProduct(const T *a, const T *b, T *c, int64_t m, int64_t k, int64_t n) {
  constexpr int64_t kBlock = 64, nBlock = 512;
  for (int64_t left = 0; left < n; left += nBlock) {
    int64_t width = std::min(nBlock, n - left);
    for (int64_t top = 0; top < k; top += kBlock) {
      int64_t bottom = std::min(k, top + kBlock);
      for (int64_t i = 0; i < m; ++i) {
        T *row = c + i * n + left;
        int64_t l = top;
        for (; l + 4 <= bottom; l += 4) {
          const T *x = a + i * k + l, *y = b + l * n + left;
          for (int64_t j = 0; j < width; ++j)
            row[j] += x[0] * y[j] + x[1] * y[n + j] + x[2] * y[2 * n + j] + x[3] * y[3 * n + j];
        }
        for (; l < bottom; ++l)
          for (int64_t j = 0; j < width; ++j)
            row[j] += a[i * k + l] * b[l * n + left + j];
      }
    }
  }
}

/// A copy of `operand` with its dims in the order of `labels`.
static HostTensor ordered(const HostTensor &operand, ArrayRef<int64_t> operandLabels,
                          ArrayRef<int64_t> labels) {
  auto operandStrides = rowMajorStrides(operand.shape);
  SmallVector<int64_t> shape, strides;
  for (int64_t label : labels) {
    int64_t dim = llvm::find(operandLabels, label) - operandLabels.begin();
    shape.push_back(operand.shape[dim]);
    strides.push_back(operandStrides[dim]);
  }
  return readStrided(operand, RankedTensorType::get(shape, operand.elementType), strides);
}

SmallVector<HostTensor> ContractOp::evaluate(ArrayRef<HostTensor> operands) {
  SmallVector<int64_t> batch, rows, sums, columns;
  int64_t sizes[4] = {1, 1, 1, 1};
  auto classify = [&](ArrayRef<int64_t> labels, const HostTensor &tensor, bool isLhs) {
    for (auto [label, size] : llvm::zip_equal(labels, tensor.shape)) {
      bool inResult = llvm::is_contained(getResultLabels(), label);
      bool shared = llvm::is_contained(isLhs ? getRhsLabels() : getLhsLabels(), label);
      if (shared && !isLhs)
        continue;
      auto &list = !shared ? (isLhs ? rows : columns) : inResult ? batch : sums;
      list.push_back(label);
      sizes[!shared ? (isLhs ? 1 : 3) : inResult ? 0 : 2] *= size;
    }
  };
  classify(getLhsLabels(), operands[0], /*isLhs=*/true);
  classify(getRhsLabels(), operands[1], /*isLhs=*/false);
  auto [batches, m, k, n] = std::tuple(sizes[0], sizes[1], sizes[2], sizes[3]);
  auto join = [](std::initializer_list<ArrayRef<int64_t>> lists) {
    SmallVector<int64_t> all;
    for (ArrayRef<int64_t> list : lists)
      all.append(list.begin(), list.end());
    return all;
  };
  HostTensor a = ordered(operands[0], getLhsLabels(), join({batch, rows, sums}));
  HostTensor b = ordered(operands[1], getRhsLabels(), join({batch, sums, columns}));

  // The product has dims batch, rows, columns.
  SmallVector<int64_t> productLabels = join({batch, rows, columns}), shape;
  for (int64_t label : productLabels) {
    int64_t dim = llvm::find(getResultLabels(), label) - getResultLabels().begin();
    shape.push_back(getType().getDimSize(dim));
  }
  HostTensor product(RankedTensorType::get(shape, getType().getElementType()));
  for (int64_t i = 0; i < batches; ++i) {
    if (a.isFloat())
      accumulateProduct(&a.reals[i * m * k], &b.reals[i * k * n], &product.reals[i * m * n], m, k,
                        n);
    else
      accumulateProduct(reinterpret_cast<const uint64_t *>(&a.integers[i * m * k]),
                        reinterpret_cast<const uint64_t *>(&b.integers[i * k * n]),
                        reinterpret_cast<uint64_t *>(&product.integers[i * m * n]), m, k, n);
  }
  HostTensor result = ordered(product, productLabels, getResultLabels());
  for (int64_t &value : result.integers)
    value = roundToType({0, value}, result.elementType).integer;
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

namespace {
/// A position of the filter that meets an element of the input.
struct Tap {
  int64_t input, filter;
};
} // namespace

/// The taps of the output at spatial index `out`, as linear spatial positions.
static SmallVector<Tap> tapsOf(ConvOp op, ArrayRef<int64_t> out, ArrayRef<int64_t> inputShape,
                               ArrayRef<int64_t> filterShape) {
  auto inputStrides = rowMajorStrides(inputShape), filterStrides = rowMajorStrides(filterShape);
  SmallVector<Tap> taps;
  forEachIndex(filterShape, [&](ArrayRef<int64_t> tap) {
    int64_t input = 0;
    for (auto [dim, t] : llvm::enumerate(tap)) {
      int64_t at =
          out[dim] * op.getStrides()[dim] + t * op.getFilterDilation()[dim] - op.getPadLow()[dim];
      int64_t dilation = op.getInputDilation()[dim];
      if (at < 0 || at % dilation != 0 || at / dilation >= inputShape[dim])
        return;
      input += at / dilation * inputStrides[dim];
    }
    taps.push_back({input, linearIndex(tap, filterStrides)});
  });
  return taps;
}

template <typename T>
static void convolve(ConvOp op, const std::vector<T> &input, const std::vector<T> &filter,
                     std::vector<T> &result, ArrayRef<int64_t> inputShape,
                     ArrayRef<int64_t> filterShape, ArrayRef<int64_t> resultShape) {
  auto volume = [](ArrayRef<int64_t> shape) {
    int64_t product = 1;
    for (int64_t size : shape)
      product *= size;
    return product;
  };
  int64_t perGroup = filterShape[1], outPerGroup = filterShape[0] / op.getGroups();
  int64_t inputVolume = volume(inputShape.drop_front(2)), taps = volume(filterShape.drop_front(2));
  int64_t resultVolume = volume(resultShape.drop_front(2)), position = 0;
  forEachIndex(resultShape.drop_front(2), [&](ArrayRef<int64_t> out) {
    SmallVector<Tap> met = tapsOf(op, out, inputShape.drop_front(2), filterShape.drop_front(2));
    for (int64_t n = 0; n < resultShape[0]; ++n)
      for (int64_t o = 0; o < resultShape[1]; ++o) {
        int64_t firstChannel = n * inputShape[1] + o / outPerGroup * perGroup;
        // Integers wrap, which only unsigned arithmetic may.
        using Sum = std::conditional_t<std::is_same_v<T, double>, double, uint64_t>;
        Sum sum = 0;
        for (int64_t c = 0; c < perGroup; ++c) {
          const T *x = input.data() + (firstChannel + c) * inputVolume;
          const T *w = filter.data() + (o * perGroup + c) * taps;
          for (const Tap &tap : met)
            sum += static_cast<Sum>(x[tap.input]) * static_cast<Sum>(w[tap.filter]);
        }
        result[(n * resultShape[1] + o) * resultVolume + position] = static_cast<T>(sum);
      }
    ++position;
  });
}

SmallVector<HostTensor> ConvOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  const HostTensor &input = operands[0], &filter = operands[1];
  if (result.isFloat())
    convolve(*this, input.reals, filter.reals, result.reals, input.shape, filter.shape,
             result.shape);
  else
    convolve(*this, input.integers, filter.integers, result.integers, input.shape, filter.shape,
             result.shape);
  for (int64_t &value : result.integers)
    value = roundToType({0, value}, result.elementType).integer;
  return {std::move(result)};
}

} // namespace weft::nn
