// References of softmax, normalisations, rotary embedding and attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "dialects/nn/IR/NnElementwise.h"
#include "dialects/nn/IR/NnReference.h"

#include <limits>

using namespace mlir;

namespace weft::nn {

SmallVector<HostTensor> SoftmaxOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  const double *x = operands[0].reals.data();
  int64_t size = result.shape[getDim()], stride = 1;
  for (int64_t inner : ArrayRef(result.shape).drop_front(getDim() + 1))
    stride *= inner;
  int64_t rows = size == 0 ? 0 : result.size() / size;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = row / stride * stride * size + row % stride;
    double greatest = x[first], sum = 0;
    for (int64_t i = 1; i < size; ++i)
      greatest = maxNan(greatest, x[first + i * stride]);
    for (int64_t i = 0; i < size; ++i)
      sum += std::exp(x[first + i * stride] - greatest);
    for (int64_t i = 0; i < size; ++i) {
      double shifted = x[first + i * stride] - greatest;
      result.reals[first + i * stride] =
          getLog() ? shifted - std::log(sum) : std::exp(shifted) / sum;
    }
  }
  return {std::move(result)};
}

/// Calls `function` with the first element of each normalised row and its size.
static void
forEachNormRow(const HostTensor &operand, int64_t dim,
               llvm::function_ref<void(int64_t first, int64_t size)> function) {
  int64_t size = 1;
  for (int64_t inner : ArrayRef(operand.shape).drop_front(dim))
    size *= inner;
  for (int64_t first = 0; first < operand.size(); first += size)
    function(first, size);
}

SmallVector<HostTensor> LayerNormOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  const double *x = operands[0].reals.data();
  double epsilon = getEpsilon().convertToDouble();
  forEachNormRow(operands[0], getDim(), [&](int64_t first, int64_t size) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < size; ++i)
      mean += x[first + i] / size;
    for (int64_t i = 0; i < size; ++i)
      variance += (x[first + i] - mean) * (x[first + i] - mean) / size;
    for (int64_t i = 0; i < size; ++i)
      result.reals[first + i] = (x[first + i] - mean) /
                                    std::sqrt(variance + epsilon) *
                                    operands[1].reals[i] +
                                (getBias() ? operands[2].reals[i] : 0);
  });
  return {std::move(result)};
}

SmallVector<HostTensor> RmsNormOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  const double *x = operands[0].reals.data();
  double epsilon = getEpsilon().convertToDouble();
  forEachNormRow(operands[0], getDim(), [&](int64_t first, int64_t size) {
    double square = 0;
    for (int64_t i = 0; i < size; ++i)
      square += x[first + i] * x[first + i] / size;
    for (int64_t i = 0; i < size; ++i)
      result.reals[first + i] =
          x[first + i] / std::sqrt(square + epsilon) * operands[1].reals[i];
  });
  return {std::move(result)};
}

SmallVector<HostTensor> RopeOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  int64_t depth = result.shape.back(), half = depth / 2;
  for (int64_t i = 0, e = operands[1].size(); i < e; ++i) {
    int64_t row = i / half * depth, j = i % half;
    int64_t first = row + (getInterleaved() ? 2 * j : j);
    int64_t second = row + (getInterleaved() ? 2 * j + 1 : j + half);
    double a = operands[0].reals[first], b = operands[0].reals[second];
    double cosine = operands[1].reals[i], sine = operands[2].reals[i];
    result.reals[first] = a * cosine - b * sine;
    result.reals[second] = b * cosine + a * sine;
  }
  return {std::move(result)};
}

SmallVector<HostTensor> AttentionOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  const HostTensor &q = operands[0], &k = operands[1], &v = operands[2];
  int64_t heads = q.shape[1], queries = q.shape[2], depth = q.shape[3];
  int64_t groups = k.shape[1], keys = k.shape[2], out = v.shape[3];
  double scale = getScale().convertToDouble(),
         softcap = getSoftcap().convertToDouble();
  double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> scores(keys);
  for (int64_t row = 0, rows = q.shape[0] * heads * queries; row < rows;
       ++row) {
    int64_t i = row % queries, head = row / queries % heads,
            batch = row / queries / heads;
    int64_t keyHead = batch * groups + head / (heads / groups);
    const double *query = &q.reals[row * depth];
    double greatest = -infinity;
    for (int64_t j = 0; j < keys; ++j) {
      double score = 0;
      const double *key = &k.reals[(keyHead * keys + j) * depth];
      for (int64_t d = 0; d < depth; ++d)
        score += query[d] * key[d];
      score *= scale;
      if (softcap > 0)
        score = softcap * std::tanh(score / softcap);
      if (getMask())
        score += operands[3].reals[row * keys + j];
      if (getCausal() && j > i + keys - queries)
        score = -infinity;
      scores[j] = score;
      greatest = maxNan(greatest, score);
    }
    // A row that sees nothing stays zero.
    if (greatest == -infinity)
      continue;
    double sum = 0;
    for (double &score : scores)
      sum += score = std::exp(score - greatest);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t e = 0; e < out; ++e)
        result.reals[row * out + e] +=
            scores[j] / sum * v.reals[(keyHead * keys + j) * out + e];
  }
  return {std::move(result)};
}

} // namespace weft::nn
