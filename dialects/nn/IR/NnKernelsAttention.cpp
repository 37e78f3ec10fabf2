// Code of attention and its gradient.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnFloatBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::nn;

namespace {

/// What the bodies of an nn.attention and its gradient have in common. Loops
/// are batch, key head, query head of it, query, key: `b, g, r, s, t`.
template <typename Op> struct AttentionBody : FloatBody {
  Op op;
  int64_t batch, heads, rows, groups, columns, width, depth;
  SmallVector<int64_t> scoreShape;
  AffineMap scoreMap, rowMap;
  Value zero, greatest; // the latter of weights

  AttentionBody(OpBuilder &builder, Location loc, Op op, ValueRange operands)
      : FloatBody(builder, loc, elementOf(op.getQuery())), op(op) {
    auto queryType = cast<RankedTensorType>(operands[0].getType());
    auto valueType = cast<RankedTensorType>(operands[2].getType());
    batch = queryType.getDimSize(0);
    heads = queryType.getDimSize(1);
    rows = queryType.getDimSize(2);
    depth = queryType.getDimSize(3);
    groups = valueType.getDimSize(1);
    columns = valueType.getDimSize(2);
    width = valueType.getDimSize(3);
    scoreShape = {batch, groups, heads / groups, rows, columns};
    scoreMap = builder.getMultiDimIdentityMap(5);
    rowMap = dims(5, {0, 1, 2, 3});
    zero = ScalarBuilder{builder, loc}.constant(compute, 0);
  }

  static SmallVector<ReassociationIndices> headGroups() { return {{0}, {1, 2}, {3}, {4}}; }
  /// Query heads as (key heads x query heads of one).
  Value grouped(Value tensor) const {
    auto from = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape = {batch, groups, heads / groups, from.getDimSize(2),
                                  from.getDimSize(3)};
    return tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, from.getElementType()), tensor, headGroups());
  }
  Value joined(Value tensor, int64_t last) const {
    return tensor::CollapseShapeOp::create(builder, loc, typed({batch, heads, rows, last}), tensor,
                                           headGroups());
  }

  /// A sum of products over loops that `result` lacks.
  Value product(ArrayRef<int64_t> shape, Value a, AffineMap aMap, Value b, AffineMap bMap,
                AffineMap result, arith::FastMathFlags flags = arith::FastMathFlags::contract) {
    return buildReduction(
        builder, loc, typed(shape), zero, {a, b}, {aMap, bMap}, result,
        [&](ScalarBuilder s, ValueRange x) {
          Value term =
              arith::MulFOp::create(s.builder, s.loc, s.roundTo(x[0], compute),
                                    s.roundTo(x[1], compute), arith::FastMathFlags::contract);
          return arith::AddFOp::create(s.builder, s.loc, x[2], term, flags).getResult();
        });
  }
  /// The same over the innermost dim of both, `b, g, r, s, d` and `b, g, t, d`.
  Value dots(Value ofQueries, Value ofKeys) {
    return product(scoreShape, ofQueries, dims(6, {0, 1, 2, 3, 5}), ofKeys, dims(6, {0, 1, 4, 5}),
                   dims(6, {0, 1, 2, 3, 4}),
                   arith::FastMathFlags::contract | arith::FastMathFlags::reassoc);
  }
  /// Of scores and what keys have; the sum over t runs outside the width.
  Value overKeys(Value scores, Value ofKeys, int64_t last) {
    return product({batch, groups, heads / groups, rows, last}, scores, dims(6, {0, 1, 2, 3, 4}),
                   ofKeys, dims(6, {0, 1, 4, 5}), dims(6, {0, 1, 2, 3, 5}));
  }
  /// Of scores and what queries have.
  Value overQueries(Value scores, Value ofQueries, int64_t last) {
    return product({batch, groups, columns, last}, scores, dims(6, {0, 1, 2, 3, 4}), ofQueries,
                   dims(6, {0, 1, 2, 3, 5}), dims(6, {0, 1, 4, 5}));
  }

  /// tanh(score / softcap) of a raw product.
  Value squash(ScalarBuilder s, Value dot) {
    Value score = s.mul(dot, s.constant(compute, op.getScale().convertToDouble()));
    return math::TanhOp::create(
        s.builder, s.loc, divide(s, score, s.constant(compute, op.getSoftcap().convertToDouble())));
  }
  Value scores(Value raw, Value mask) {
    SmallVector<Value> inputs = {raw};
    if (mask)
      inputs.push_back(grouped(mask));
    double softcap = op.getSoftcap().convertToDouble();
    return map(scoreShape, inputs, {}, [&](ScalarBuilder s, ValueRange a) {
      Value score;
      if (softcap > 0)
        score = s.mul(s.constant(compute, softcap), squash(s, a[0]));
      else
        score = s.mul(a[0], s.constant(compute, op.getScale().convertToDouble()));
      if (mask)
        score = s.add(score, s.roundTo(a[1], compute));
      if (op.getCausal()) {
        Value row = linalg::IndexOp::create(s.builder, s.loc, 3);
        Value column = linalg::IndexOp::create(s.builder, s.loc, 4);
        Value last = s.add(row, s.index(columns - rows));
        Value seen =
            arith::CmpIOp::create(s.builder, s.loc, arith::CmpIPredicate::sle, column, last);
        score =
            arith::SelectOp::create(s.builder, s.loc, seen, score, s.constant(compute, -INFINITY));
      }
      return score;
    });
  }
  /// exp(score - greatest) and its sum over keys.
  std::pair<Value, Value> weights(Value scores) {
    greatest = reduce(ReduceKind::Max, scores, 4);
    Value e =
        map(scoreShape, {scores, greatest}, {scoreMap, rowMap}, [&](ScalarBuilder s, ValueRange a) {
          // A row that sees nothing has the maximum -inf; its weights are 0.
          Value base = arith::SelectOp::create(s.builder, s.loc, isEqual(s, a[1], -INFINITY),
                                               s.constant(compute, 0), a[1]);
          return math::ExpOp::create(s.builder, s.loc, subtract(s, a[0], base)).getResult();
        });
    return {e, reduce(ReduceKind::Sum, e, 4)};
  }
  /// The logarithm of the sum of exp(score), `b, h, s`; -inf of a row that sees nothing.
  Value logSums(Value sum) {
    ArrayRef<int64_t> shape = ArrayRef(scoreShape).drop_back();
    Value each = map(shape, {greatest, sum}, {}, [&](ScalarBuilder s, ValueRange a) {
      return s.add(a[0], math::LogOp::create(s.builder, s.loc, a[1]));
    });
    SmallVector<ReassociationIndices> joined = {{0}, {1, 2}, {3}};
    return tensor::CollapseShapeOp::create(builder, loc, typed({batch, heads, rows}), each, joined);
  }
  /// Each element of `numerator` over its row's sum.
  Value normalised(Value numerator, Value sum, ArrayRef<int64_t> shape) {
    return map(shape, {numerator, sum}, {scoreMap, rowMap}, [&](ScalarBuilder s, ValueRange a) {
      Value divisor = arith::SelectOp::create(s.builder, s.loc, isEqual(s, a[1], 0),
                                              s.constant(compute, 1), a[1]);
      return divide(s, a[0], divisor);
    });
  }
};

/// The mask is the last operand.
template <typename Op> LibraryCall callOf(Op op, StringRef command) {
  LibraryCall call;
  call.command = command;
  unsigned operands = op->getNumOperands(), always = operands - (op.getMask() ? 1 : 0);
  llvm::append_range(call.reads, llvm::seq(0u, always));
  llvm::append_range(call.mayLack, llvm::seq(always, operands));
  call.attributes.set("scale", op.getScaleAttr());
  call.attributes.set("softcap", op.getSoftcapAttr());
  if (op.getCausal())
    call.attributes.set("causal", op.getCausalAttr());
  return call;
}

} // namespace

std::optional<LibraryCall> AttentionOp::getLibraryCall() {
  if (!getLogSumExp())
    return callOf(*this, "attention");
  if (getMask())
    return std::nullopt;
  LibraryCall call = callOf(*this, "attention_with_sums");
  call.denseResults = 1;
  return call;
}

unsigned AttentionOp::getParallelDims() { return 3; }

SmallVector<Value> AttentionOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  AttentionBody<AttentionOp> b(builder, loc, *this, operands);
  Value raw = b.dots(b.grouped(operands[0]), operands[1]);
  auto [e, sum] = b.weights(b.scores(raw, getMask() ? operands[3] : Value()));
  Value weighted = b.overKeys(e, operands[2], b.width);
  Value out = b.normalised(weighted, sum, {b.batch, b.groups, b.heads / b.groups, b.rows, b.width});
  SmallVector<Value> results = {b.narrow(b.joined(out, b.width), getResult().getType())};
  if (getLogSumExp())
    results.push_back(b.narrow(b.logSums(sum), getLogSumExp().getType()));
  return results;
}

std::optional<LibraryCall> AttentionGradOp::getLibraryCall() {
  if (!getLogSumExp())
    return callOf(*this, "attention_grad");
  return getMask() ? std::nullopt : std::optional(callOf(*this, "attention_with_sums_grad"));
}

unsigned AttentionGradOp::getParallelDims() { return 1; }

SmallVector<Value> AttentionGradOp::buildBody(OpBuilder &builder, Location loc,
                                              ValueRange operands) {
  AttentionBody<AttentionGradOp> b(builder, loc, *this, operands);
  Value query = b.grouped(operands[0]), upper = b.grouped(operands[4]);
  Value raw = b.dots(query, operands[1]);
  auto [e, sum] = b.weights(b.scores(raw, getMask() ? operands.back() : Value()));
  Value p = b.normalised(e, sum, b.scoreShape);
  Value slopes = b.dots(upper, operands[2]);
  // Loops b, g, r, s, e.
  Value inner = b.product({b.batch, b.groups, b.heads / b.groups, b.rows}, upper, b.scoreMap,
                          b.grouped(operands[3]), b.scoreMap, b.rowMap);
  double softcap = getSoftcap().convertToDouble();
  Value d =
      b.map(b.scoreShape, {p, slopes, inner, raw}, {b.scoreMap, b.scoreMap, b.rowMap, b.scoreMap},
            [&](ScalarBuilder s, ValueRange a) {
              Value slope = s.mul(a[0], subtract(s, a[1], a[2]));
              if (softcap > 0) {
                Value t = b.squash(s, a[3]);
                slope = s.mul(slope, subtract(s, s.constant(b.compute, 1), s.mul(t, t)));
              }
              return s.mul(slope, s.constant(b.compute, getScale().convertToDouble()));
            });
  Value dq = b.joined(b.overKeys(d, operands[1], b.depth), b.depth);
  Value dk = b.overQueries(d, query, b.depth);
  Value dv = b.overQueries(p, upper, b.width);
  return {b.narrow(dq, getQueryGradient().getType()), b.narrow(dk, getKeyGradient().getType()),
          b.narrow(dv, getValueGradient().getType())};
}
