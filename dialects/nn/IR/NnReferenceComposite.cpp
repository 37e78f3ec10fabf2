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
static void forEachNormRow(const HostTensor &operand, int64_t dim,
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
      result.reals[first + i] =
          (x[first + i] - mean) / std::sqrt(variance + epsilon) * operands[1].reals[i] +
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
      result.reals[first + i] = x[first + i] / std::sqrt(square + epsilon) * operands[1].reals[i];
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

namespace {
/// One row of the score matrix of an nn.attention or its gradient.
template <typename Op> struct ScoreRow {
  Op op;
  const HostTensor &q, &k;
  const HostTensor *mask;
  int64_t heads = q.shape[1], queries = q.shape[2], depth = q.shape[3];
  int64_t groups = k.shape[1], keys = k.shape[2];
  double scale = op.getScale().convertToDouble();
  double softcap = op.getSoftcap().convertToDouble();
  /// The softcap's tanh, if there is one, and exp(score - greatest) / sum.
  std::vector<double> squashed = std::vector<double>(keys);
  std::vector<double> probabilities = std::vector<double>(keys);
  double logSum = 0;

  int64_t rows() const { return q.shape[0] * heads * queries; }
  int64_t keyHead(int64_t row) const {
    int64_t head = row / queries % heads, batch = row / queries / heads;
    return batch * groups + head / (heads / groups);
  }
  /// False if the row sees nothing.
  bool compute(int64_t row) {
    double infinity = std::numeric_limits<double>::infinity();
    const double *query = q.reals.data() + row * depth;
    double greatest = -infinity, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double score = 0;
      const double *key = k.reals.data() + (keyHead(row) * keys + j) * depth;
      for (int64_t d = 0; d < depth; ++d)
        score += query[d] * key[d];
      score *= scale;
      if (softcap > 0) {
        squashed[j] = std::tanh(score / softcap);
        score = softcap * squashed[j];
      }
      if (mask)
        score += mask->reals[row * keys + j];
      if (op.getCausal() && j > row % queries + keys - queries)
        score = -infinity;
      probabilities[j] = score;
      greatest = maxNan(greatest, score);
    }
    logSum = greatest;
    if (greatest == -infinity)
      return false;
    for (double &score : probabilities)
      sum += score = std::exp(score - greatest);
    logSum += std::log(sum);
    for (double &score : probabilities)
      score /= sum;
    return true;
  }
};
} // namespace

SmallVector<HostTensor> AttentionOp::evaluate(ArrayRef<HostTensor> operands) {
  SmallVector<HostTensor> results;
  for (Type type : getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  HostTensor &result = results[0];
  const HostTensor &v = operands[2];
  int64_t out = v.shape[3];
  ScoreRow<AttentionOp> scores{*this, operands[0], operands[1], getMask() ? &operands[3] : nullptr};
  for (int64_t row = 0; row < scores.rows(); ++row) {
    bool seesAny = scores.compute(row);
    if (getLogSumExp())
      results[1].reals[row] = scores.logSum;
    // A row that sees nothing stays zero.
    if (!seesAny)
      continue;
    int64_t first = scores.keyHead(row) * scores.keys;
    for (int64_t j = 0; j < scores.keys; ++j)
      for (int64_t e = 0; e < out; ++e)
        result.reals[row * out + e] += scores.probabilities[j] * v.reals[(first + j) * out + e];
  }
  return results;
}

SmallVector<HostTensor> AttentionGradOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor dq(getQueryGradient().getType()), dk(getKeyGradient().getType()),
      dv(getValueGradient().getType());
  const HostTensor &q = operands[0], &k = operands[1], &v = operands[2];
  int64_t depth = q.shape[3], out = v.shape[3];
  ScoreRow<AttentionGradOp> scores{*this, q, k, getMask() ? &operands.back() : nullptr};
  for (int64_t row = 0; row < scores.rows(); ++row) {
    if (!scores.compute(row))
      continue;
    const double *upper = operands[4].reals.data() + row * out;
    double inner = 0;
    for (int64_t e = 0; e < out; ++e)
      inner += upper[e] * operands[3].reals[row * out + e];
    for (int64_t j = 0; j < scores.keys; ++j) {
      int64_t at = scores.keyHead(row) * scores.keys + j;
      double p = scores.probabilities[j], slope = -inner;
      for (int64_t e = 0; e < out; ++e) {
        slope += upper[e] * v.reals[at * out + e];
        dv.reals[at * out + e] += p * upper[e];
      }
      slope *= p * scores.scale;
      if (scores.softcap > 0)
        slope *= 1 - scores.squashed[j] * scores.squashed[j];
      for (int64_t d = 0; d < depth; ++d) {
        dq.reals[row * depth + d] += slope * k.reals[at * depth + d];
        dk.reals[at * depth + d] += slope * q.reals[row * depth + d];
      }
    }
  }
  return {std::move(dq), std::move(dk), std::move(dv)};
}

} // namespace weft::nn
