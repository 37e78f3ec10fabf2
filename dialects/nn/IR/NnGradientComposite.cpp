// Gradients of softmax, normalisations, rotary embedding and attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics are computed again instead of being kept: they cost a pass over a
// row that the gradient reads anyway.
#include "dialects/nn/IR/NnGradient.h"

#include <limits>

using namespace mlir;

namespace weft::nn {

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange results,
                                       ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  int64_t dim = getDim();
  d.set(0, [&] {
    Term y = d.result().wide(), g = d.upper().wide();
    if (getLog())
      return g - y.unary<ExpOp>() * g.sum(dim).repeatLike(g, dim);
    return y * (g - (g * y).sum(dim).repeatLike(g, dim));
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

namespace {
/// The rows of a normalisation.
struct Rows {
  SmallVector<int64_t> dims, leading;
  double size = 1;

  Rows(Term x, int64_t first) : dims(dimRange(first, x.rank())), leading(dimRange(0, first)) {
    for (int64_t dim : dims)
      size *= x.shape()[dim];
  }
  Term mean(Term x) const { return x.sum(dims) / size; }
  Term repeat(Term statistic, Term like) const { return statistic.repeatLike(like, dims); }
  /// 1 / sqrt(mean(x^2) + epsilon), repeated.
  Term reciprocalRoot(Term x, const APFloat &epsilon) const {
    return repeat((mean(x * x) + epsilon.convertToDouble()).unary<RsqrtOp>(), x);
  }
};
} // namespace

LogicalResult LayerNormOp::buildGradient(OpBuilder &builder, ValueRange results,
                                         ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term x = d.operand(0).wide(), scale = d.operand(1).wide(), g = d.upper().wide();
  Rows rows(x, getDim());
  if (wanted[0] || wanted[1]) {
    Term centred = x - rows.repeat(rows.mean(x), x);
    Term root = rows.reciprocalRoot(centred, getEpsilon());
    Term normal = centred * root;
    d.set(0, [&] {
      Term scaled = g * scale.broadcast(x.shape(), rows.dims);
      return root * (scaled - rows.repeat(rows.mean(scaled), x) -
                     normal * rows.repeat(rows.mean(scaled * normal), x));
    });
    d.set(1, [&] { return (g * normal).sum(rows.leading); });
  }
  if (getBias())
    d.set(2, [&] { return g.sum(rows.leading); });
  return success();
}

LogicalResult RmsNormOp::buildGradient(OpBuilder &builder, ValueRange results,
                                       ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term x = d.operand(0).wide(), scale = d.operand(1).wide(), g = d.upper().wide();
  Rows rows(x, getDim());
  Term root = rows.reciprocalRoot(x, getEpsilon());
  Term normal = x * root;
  d.set(0, [&] {
    Term scaled = g * scale.broadcast(x.shape(), rows.dims);
    return root * (scaled - normal * rows.repeat(rows.mean(scaled * normal), x));
  });
  d.set(1, [&] { return (g * normal).sum(rows.leading); });
  return success();
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term g = d.upper();
  // Back by the same angle.
  d.set(0, [&] {
    return g.make<RopeOp>(g.value, getCosine(), (-d.operand(2)).value, getInterleaved());
  });
  if (!wanted[1] && !wanted[2])
    return success();
  int64_t last = g.rank() - 1, half = g.shape()[last] / 2;
  auto member = [&](Term x, int64_t which) {
    return getInterleaved() ? x.sliceDim(last, which, half, 2)
                            : x.sliceDim(last, which * half, half);
  };
  Term x = d.operand(0).wide(), wide = g.wide();
  Term a = member(x, 0), b = member(x, 1), ga = member(wide, 0), gb = member(wide, 1);
  d.set(1, [&] { return ga * a + gb * b; });
  d.set(2, [&] { return gb * a - ga * b; });
  return success();
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

namespace {
/// Labels of the dims batch, key head, query head of it, query, key, depth of
/// keys and of values.
enum AttentionLabel : int64_t { B, G, R, S, T, D, E };
} // namespace

/// The score matrix `B x G x R x S x T` and what is made of it, computed again.
struct Scores {
  Term squashed, probabilities;
};

static Term contract(Term a, ArrayRef<int64_t> aLabels, Term b, ArrayRef<int64_t> bLabels,
                     ArrayRef<int64_t> resultLabels) {
  return a.make<ContractOp>(a.value, b.value, aLabels, bLabels, resultLabels);
}

static Scores attentionScores(AttentionOp op, Term q, Term k, std::optional<Term> mask) {
  double infinity = std::numeric_limits<double>::infinity();
  double softcap = op.getSoftcap().convertToDouble();
  Term scores = contract(q, {B, G, R, S, D}, k, {B, G, T, D}, {B, G, R, S, T}) *
                op.getScale().convertToDouble();
  Term squashed = scores;
  if (softcap > 0) {
    squashed = (scores / softcap).unary<TanhOp>();
    scores = squashed * softcap;
  }
  if (mask)
    scores = scores + *mask;
  if (op.getCausal()) {
    int64_t shift = scores.shape()[T] - scores.shape()[S];
    Term row = scores.iotaAlong(S), column = scores.iotaAlong(T);
    scores = column.is(CompareKind::Le, row + shift).choose(scores, -infinity);
  }
  // A row that sees nothing has probabilities of zero, not 0/0.
  Term greatest = scores.reduce(ReduceKind::Max, T);
  greatest = greatest.is(CompareKind::Eq, -infinity).choose(greatest.splat(0), greatest);
  Term raised = (scores - greatest.repeatLike(scores, T)).unary<ExpOp>(), sum = raised.sum(T);
  sum = sum.is(CompareKind::Eq, 0.0).choose(sum.splat(1), sum);
  return {squashed, raised / sum.repeatLike(raised, T)};
}

LogicalResult AttentionOp::buildGradient(OpBuilder &builder, ValueRange results,
                                         ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  bool wantsMask = getMask() && wanted[3];
  if (!wantsMask) {
    auto grad = AttentionGradOp::create(builder, getLoc(), getQuery().getType(), getKey().getType(),
                                        getValue().getType(), getQuery(), getKey(), getValue(),
                                        getResult(), results[0], getLogSumExp(), getMask(),
                                        getScaleAttr(), getCausalAttr(), getSoftcapAttr());
    for (unsigned i : {0u, 1u, 2u})
      if (wanted[i])
        operands[i] = grad->getResult(i);
    return success();
  }
  // The mask's gradient is as large as the score matrix, so that may be made.
  Term k = d.operand(1).wide(), v = d.operand(2).wide();
  int64_t batch = k.shape()[0], groups = k.shape()[1], keys = k.shape()[2];
  // Query heads stand beside the key head that they share.
  auto grouped = [&](Value value) {
    Term x = d.term(value).wide();
    int64_t heads = x.shape()[1];
    return x.reshape({batch, groups, heads / groups, x.shape()[2], x.shape()[3]});
  };
  Term q = grouped(getQuery()), g = grouped(results[0]);
  Scores s = attentionScores(*this, q, k,
                             getMask() ? std::optional<Term>(grouped(getMask())) : std::nullopt);
  d.set(2, [&] {
    return contract(s.probabilities, {B, G, R, S, T}, g, {B, G, R, S, E}, {B, G, T, E});
  });
  Term upper = contract(g, {B, G, R, S, E}, v, {B, G, T, E}, {B, G, R, S, T});
  Term inner = (upper * s.probabilities).sum(T).repeatLike(upper, T);
  Term scores = s.probabilities * (upper - inner);
  d.set(3, scores.reshape({batch, q.shape()[1] * q.shape()[2], q.shape()[3], keys}));
  if (getSoftcap().convertToDouble() > 0)
    scores = scores * (1 - s.squashed * s.squashed);
  scores = scores * getScale().convertToDouble();
  d.set(0, [&] {
    return contract(scores, {B, G, R, S, T}, k, {B, G, T, D}, {B, G, R, S, D})
        .reshape(d.operand(0).shape());
  });
  d.set(1, [&] { return contract(scores, {B, G, R, S, T}, q, {B, G, R, S, D}, {B, G, T, D}); });
  return success();
}

} // namespace weft::nn
