// Describes attention to cuDNN, and keeps its plans.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/AttentionPlans.h"

#include <tuple>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

using Tensor = CudnnGraph::Tensor;

/// cuDNN recognises flash attention by the pattern of operations: their order, and which
/// intermediates are virtual and of which type, is part of its interface.
class AttentionBuilder {
public:
  AttentionBuilder(const AttentionShape &shape, CudnnGraph &graph)
      : shape(shape), graph(graph), small(shape.dtype == DType::F16 ? DnnF16 : DnnBF16),
        querySizes{shape.batch, shape.queryHeads, shape.queries, shape.depth},
        keySizes{shape.batch, shape.keyHeads, shape.keys, shape.depth},
        scoreSizes{shape.batch, shape.queryHeads, shape.queries, shape.keys},
        rowSizes{shape.batch, shape.queryHeads, shape.queries, 1} {}

  void forward() {
    Tensor query = ofQuery(QueryPart), keyTurned = turned(KeyPart), value = ofKey(ValuePart),
           output = ofQuery(OutputPart), logSum = ofRow(LogSumPart),
           scale = graph.scalar(ScalePart);
    Tensor score = scores();
    graph.product(query, keyTurned, score);
    score = hide(apply(DnnMul, score, scale, scores()));
    Tensor largest = rows(), sum = rows();
    graph.reduce(DnnMax, score, largest);
    Tensor shifted = apply(DnnSub, score, largest, scores());
    Tensor power = apply(DnnExp, shifted, nullptr, scores());
    graph.reduce(DnnSum, power, sum);
    Tensor logarithm = apply(DnnLog, sum, nullptr, rows());
    apply(DnnAdd, largest, logarithm, logSum);
    Tensor probability = apply(DnnDiv, power, sum, scores(small));
    graph.product(probability, value, output);
  }

  void backward() {
    Tensor query = ofQuery(QueryPart), keyTurned = turned(KeyPart), valueTurned = turned(ValuePart),
           output = ofQuery(OutputPart), slope = ofQuery(OutputGradientPart);
    Tensor logSum = ofRow(LogSumPart), rowSum = ofRow(RowSumPart);
    Tensor queryGradient = ofQuery(QueryGradientPart), keyGradient = ofKey(KeyGradientPart),
           valueGradient = ofKey(ValueGradientPart);
    Tensor querySum = graph.real(QuerySumPart, DnnF32, querySizes, contiguous(querySizes));
    Tensor scale = graph.scalar(ScalePart), one = graph.scalar(OnePart);

    Tensor products = apply(DnnMul, slope, output, ofHeads(DnnF32));
    Tensor sums = rows();
    graph.reduce(DnnSum, products, sums);
    apply(DnnMul, sums, one, rowSum);

    // Probabilities, again.
    Tensor score = scores();
    graph.product(query, keyTurned, score);
    score = apply(DnnMul, score, scale, scores());
    score = hide(apply(DnnSub, score, logSum, scores()));
    Tensor probability = apply(DnnExp, score, nullptr, scores());
    productOverQueries(turnedScores(probability), slope, valueGradient);

    // (slope value^T - rowSum) probability scale
    Tensor inner = scores();
    graph.product(slope, valueTurned, inner);
    inner = apply(DnnSub, inner, rowSum, scores());
    inner = apply(DnnMul, inner, probability, scores());
    inner = apply(DnnMul, inner, scale, scores());
    productOverQueries(turnedScores(inner), query, keyGradient);

    Tensor key = graph.temporary(DnnF32, keySizes, strides(KeyPart));
    graph.reshape(keyTurned, key);
    graph.product(inner, key, querySum);
    apply(DnnIdentity, querySum, nullptr, queryGradient);
  }

private:
  Extents strides(AttentionPart part) const {
    const auto &own = shape.strides[size_t(part - QueryPart)];
    return {own.begin(), own.end()};
  }
  Tensor ofQuery(AttentionPart part) { return graph.real(part, small, querySizes, strides(part)); }
  Tensor ofKey(AttentionPart part) { return graph.real(part, small, keySizes, strides(part)); }
  Tensor turned(AttentionPart part) {
    Extents sizes = keySizes, turnedStrides = strides(part);
    std::swap(sizes[2], sizes[3]);
    std::swap(turnedStrides[2], turnedStrides[3]);
    return graph.real(part, small, sizes, turnedStrides);
  }
  Tensor ofRow(AttentionPart part) {
    return graph.real(part, DnnF32, rowSizes, contiguous(rowSizes));
  }
  Tensor scores(DnnType type = DnnF32) {
    return graph.temporary(type, scoreSizes, contiguous(scoreSizes));
  }
  Tensor rows() { return graph.temporary(DnnF32, rowSizes, contiguous(rowSizes)); }
  Tensor ofHeads(DnnType type) { return graph.temporary(type, querySizes, contiguous(querySizes)); }
  Tensor apply(DnnFunction function, Tensor x, Tensor b, Tensor y) {
    graph.pointwise(function, x, b, y);
    return y;
  }

  /// With rows and columns exchanged.
  Tensor turnedScores(Tensor x) {
    Extents sizes = scoreSizes, turnedStrides = contiguous(scoreSizes);
    std::swap(sizes[2], sizes[3]);
    std::swap(turnedStrides[2], turnedStrides[3]);
    Tensor y = graph.temporary(small, sizes, turnedStrides);
    graph.reshape(x, y);
    return y;
  }

  /// Row i sees columns up to i.
  Tensor hide(Tensor score) {
    if (!shape.causal)
      return score;
    Tensor hidden = graph.scalar(HiddenPart);
    Tensor row = scores(DnnI32), column = scores(DnnI32), sees = scores(DnnBool);
    graph.index(2, score, row);
    graph.index(3, score, column);
    graph.compare(row, column, sees);
    Tensor y = scores();
    graph.pointwise(DnnSelect, score, hidden, y, sees);
    return y;
  }

  /// Of keys or values. Where several heads of queries share one of theirs, each one's part is
  /// added up.
  void productOverQueries(Tensor turnedScores, Tensor ofQueries, Tensor gradient) {
    if (shape.queryHeads == shape.keyHeads) {
      graph.product(turnedScores, ofQueries, gradient);
      return;
    }
    Extents sizes{shape.batch, shape.queryHeads, shape.keys, shape.depth};
    Tensor ofEach = graph.temporary(small, sizes, contiguous(sizes));
    graph.product(turnedScores, ofQueries, ofEach);
    graph.reduce(DnnSum, ofEach, gradient);
  }

  const AttentionShape &shape;
  CudnnGraph &graph;
  DnnType small;
  Extents querySizes, keySizes, scoreSizes, rowSizes;
};

} // namespace

bool AttentionShape::operator<(const AttentionShape &other) const {
  auto all = [](const AttentionShape &s) {
    return std::tie(s.dtype, s.causal, s.isGradient, s.batch, s.queryHeads, s.keyHeads, s.queries,
                    s.keys, s.depth, s.strides);
  };
  return all(*this) < all(other);
}

void cuda::describeAttention(const AttentionShape &shape, CudnnGraph &graph) {
  AttentionBuilder builder(shape, graph);
  if (shape.isGradient)
    builder.backward();
  else
    builder.forward();
}

Status AttentionPlans::find(const AttentionShape &shape, const CudnnPlan *&plan) {
  WEFT_TRY(cudnn.open());
  std::unique_ptr<CudnnPlan> &known = plans[shape];
  if (!known) {
    CudnnGraph graph(cudnn);
    describeAttention(shape, graph);
    Status status = graph.finish();
    if (status.ok())
      status = CudnnPlan::make(cudnn, graph, known);
    if (!status.ok())
      return refusal(shape, status);
  }
  plan = known.get();
  return {};
}

Status AttentionPlans::refusal(const AttentionShape &shape, const Status &status) const {
  auto number = [](int64_t value) { return std::to_string(value); };
  return {status.code(),
          "cuDNN " + cudnn.versionName() + " does not do " +
              (shape.isGradient ? "the gradient of " : "") + (shape.causal ? "causal " : "") +
              "attention in " + dtypeName(shape.dtype) + " of " + number(shape.batch) +
              " sequences, " + number(shape.queryHeads) + " heads of " + number(shape.depth) +
              " (" + number(shape.keyHeads) + " of keys), " + number(shape.queries) +
              " queries and " + number(shape.keys) +
              " keys on this GPU; compile the model with --attention decomposed: " + status.text()};
}
