// Flash attention, forward and backward, as cuDNN's composite graph; and where
// its elements lie in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionGraph.h"

#include <cmath>
#include <limits>

namespace weft::gpukit {

double AttentionShape::scale() const { return 1 / std::sqrt(double(depth)); }

double AttentionShape::forwardFlops() const {
  double pairs =
      double(batch) * double(queryHeads) * double(time) * double(time) * (causal ? 0.5 : 1.0);
  return 4 * pairs * double(depth);
}

float maskedScore(size_t cudnnVersion) {
  return cudnnVersion < 91000 ? std::numeric_limits<float>::lowest()
                              : -std::numeric_limits<float>::infinity();
}

namespace {

/// The tensors of one graph. cuDNN recognises flash attention by the pattern of
/// operations: their order, and which intermediates are virtual and of which
/// type, is part of its interface.
class AttentionBuilder {
public:
  AttentionBuilder(const Cudnn &cudnn, const AttentionShape &shape) : shape(shape), builder(cudnn) {
    int64_t d = shape.depth, t = shape.time, token = shape.packedHeads() * d,
            outToken = shape.queryHeads * d;
    queryStrides = {t * token, d, token, 1};
    transposedStrides = {t * token, d, 1, token};
    outputStrides = {t * outToken, d, outToken, 1};
    queryDims = {shape.batch, shape.queryHeads, t, d};
    keyDims = {shape.batch, shape.keyHeads, t, d};
    keyTransposedDims = {shape.batch, shape.keyHeads, d, t};
    scoreDims = {shape.batch, shape.queryHeads, t, t};
    rowDims = {shape.batch, shape.queryHeads, t, 1};
  }

  Tensor query() { return builder.real(queryDims, queryStrides, CUDNN_DATA_BFLOAT16); }
  Tensor keyLike() { return builder.real(keyDims, queryStrides, CUDNN_DATA_BFLOAT16); }
  Tensor keyTransposed() {
    return builder.real(keyTransposedDims, transposedStrides, CUDNN_DATA_BFLOAT16);
  }
  Tensor output() { return builder.real(queryDims, outputStrides, CUDNN_DATA_BFLOAT16); }
  Tensor realRows() { return builder.real(rowDims, contiguous(rowDims), CUDNN_DATA_FLOAT); }
  Tensor scores(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return builder.temporary(scoreDims, contiguous(scoreDims), type);
  }
  Tensor rows() { return builder.temporary(rowDims, contiguous(rowDims), CUDNN_DATA_FLOAT); }
  Tensor headwise(cudnnDataType_t type) {
    return builder.temporary(queryDims, contiguous(queryDims), type);
  }

  /// The same scores with the roles of rows and columns exchanged.
  Tensor transposed(const Tensor &x) {
    Extents strides = contiguous(scoreDims);
    std::swap(strides[2], strides[3]);
    Tensor y = builder.temporary(scoreDims, strides, CUDNN_DATA_BFLOAT16);
    builder.reshape(x, y);
    return y;
  }

  Tensor apply(cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *b, Tensor y) {
    builder.pointwise(mode, x, b, nullptr, y);
    return y;
  }

  Tensor causal(const Tensor &x, const Tensor &masked) {
    Tensor row = scores(CUDNN_DATA_INT32), column = scores(CUDNN_DATA_INT32),
           keep = scores(CUDNN_DATA_BOOLEAN);
    builder.pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr, nullptr, row, CUDNN_DATA_FLOAT, 2);
    builder.pointwise(CUDNN_POINTWISE_GEN_INDEX, x, nullptr, nullptr, column, CUDNN_DATA_FLOAT, 3);
    builder.pointwise(CUDNN_POINTWISE_CMP_GE, row, &column, nullptr, keep, CUDNN_DATA_BOOLEAN);
    Tensor y = scores();
    builder.pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, &masked, &keep, y);
    return y;
  }

  /// A gradient of keys or values. With fewer of them than queries, each query
  /// head's part is summed over its group.
  void keyGradient(const Tensor &a, const Tensor &b, const Tensor &gradient) {
    if (shape.queryHeads == shape.keyHeads) {
      builder.matmul(a, b, gradient);
      return;
    }
    Tensor perQueryHead = headwise(CUDNN_DATA_BFLOAT16);
    builder.matmul(a, b, perQueryHead);
    builder.reduce(CUDNN_REDUCE_TENSOR_ADD, perQueryHead, gradient);
  }

  AttentionGraph finish() {
    std::unique_ptr<Descriptor> graph = builder.finish();
    size_t operations = builder.operationCount();
    return {std::move(builder), std::move(graph), uids, operations};
  }

  const AttentionShape &shape;
  GraphBuilder builder;
  AttentionUids uids;
  Extents queryStrides, transposedStrides, outputStrides;
  Extents queryDims, keyDims, keyTransposedDims, scoreDims, rowDims;
};

} // namespace

AttentionGraph forwardGraph(const Cudnn &cudnn, const AttentionShape &shape) {
  AttentionBuilder b(cudnn, shape);
  Tensor q = b.query(), kT = b.keyTransposed(), v = b.keyLike(), o = b.output(),
         stats = b.realRows();
  Tensor scale = b.builder.scalar();
  b.uids.q = q.uid, b.uids.k = kT.uid, b.uids.v = v.uid, b.uids.o = o.uid, b.uids.stats = stats.uid;
  b.uids.scale = scale.uid;

  Tensor s = b.scores();
  b.builder.matmul(q, kT, s);
  s = b.apply(CUDNN_POINTWISE_MUL, s, &scale, b.scores());
  if (shape.causal) {
    Tensor masked = b.builder.scalar();
    b.uids.masked = masked.uid;
    s = b.causal(s, masked);
  }
  Tensor largest = b.rows(), sum = b.rows();
  b.builder.reduce(CUDNN_REDUCE_TENSOR_MAX, s, largest);
  Tensor shifted = b.apply(CUDNN_POINTWISE_SUB, s, &largest, b.scores());
  Tensor power = b.apply(CUDNN_POINTWISE_EXP, shifted, nullptr, b.scores());
  b.builder.reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum);
  Tensor logarithm = b.apply(CUDNN_POINTWISE_LOG, sum, nullptr, b.rows());
  b.apply(CUDNN_POINTWISE_ADD, largest, &logarithm, stats);
  Tensor p = b.apply(CUDNN_POINTWISE_DIV, power, &sum, b.scores(CUDNN_DATA_BFLOAT16));
  b.builder.matmul(p, v, o);
  return b.finish();
}

AttentionGraph backwardGraph(const Cudnn &cudnn, const AttentionShape &shape) {
  AttentionBuilder b(cudnn, shape);
  Tensor q = b.query(), kT = b.keyTransposed(), vT = b.keyTransposed(), o = b.output(),
         dO = b.output();
  Tensor stats = b.realRows(), rowSum = b.realRows();
  Tensor dQ = b.query(), dK = b.keyLike(), dV = b.keyLike();
  Tensor dQAccum = b.builder.real(b.queryDims, contiguous(b.queryDims), CUDNN_DATA_FLOAT);
  Tensor scale = b.builder.scalar(), one = b.builder.scalar();
  b.uids.q = q.uid, b.uids.k = kT.uid, b.uids.v = vT.uid, b.uids.o = o.uid, b.uids.dO = dO.uid;
  b.uids.stats = stats.uid, b.uids.rowSum = rowSum.uid, b.uids.dQAccum = dQAccum.uid;
  b.uids.dQ = dQ.uid, b.uids.dK = dK.uid, b.uids.dV = dV.uid;
  b.uids.scale = scale.uid, b.uids.one = one.uid;

  // rowSum[t] = dO[t] . O[t]
  Tensor products = b.apply(CUDNN_POINTWISE_MUL, dO, &o, b.headwise(CUDNN_DATA_FLOAT));
  Tensor sums = b.rows();
  b.builder.reduce(CUDNN_REDUCE_TENSOR_ADD, products, sums);
  b.apply(CUDNN_POINTWISE_MUL, sums, &one, rowSum);

  // P again, from the scores and the row statistics.
  Tensor s = b.scores();
  b.builder.matmul(q, kT, s);
  s = b.apply(CUDNN_POINTWISE_MUL, s, &scale, b.scores());
  s = b.apply(CUDNN_POINTWISE_SUB, s, &stats, b.scores());
  if (shape.causal) {
    Tensor masked = b.builder.scalar();
    b.uids.masked = masked.uid;
    s = b.causal(s, masked);
  }
  Tensor p = b.apply(CUDNN_POINTWISE_EXP, s, nullptr, b.scores());
  b.keyGradient(b.transposed(p), dO, dV);

  // dS = P (dO V^T - rowSum) scale
  Tensor dP = b.scores();
  b.builder.matmul(dO, vT, dP);
  dP = b.apply(CUDNN_POINTWISE_SUB, dP, &rowSum, b.scores());
  dP = b.apply(CUDNN_POINTWISE_MUL, dP, &p, b.scores());
  Tensor dS = b.apply(CUDNN_POINTWISE_MUL, dP, &scale, b.scores());
  b.keyGradient(b.transposed(dS), q, dK);

  Tensor k = b.builder.temporary(b.keyDims, b.queryStrides, CUDNN_DATA_FLOAT);
  b.builder.reshape(kT, k);
  b.builder.matmul(dS, k, dQAccum);
  b.apply(CUDNN_POINTWISE_IDENTITY, dQAccum, nullptr, dQ);
  return b.finish();
}

} // namespace weft::gpukit
