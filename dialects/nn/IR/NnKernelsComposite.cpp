// Code of softmax, norms and rotary embedding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnFloatBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::nn;

static SmallVector<int64_t> allBut(int64_t rank, int64_t dim) {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim)
      dims.push_back(d);
  return dims;
}

//===----------------------------------------------------------------------===//
// softmax and norms
//===----------------------------------------------------------------------===//

unsigned SoftmaxOp::getParallelDims() { return getDim(); }
unsigned LayerNormOp::getParallelDims() { return getDim(); }
unsigned RmsNormOp::getParallelDims() { return getDim(); }

SmallVector<Value> SoftmaxOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  FloatBody b(builder, loc, type.getElementType());
  int64_t rank = type.getRank(), dim = getDim();
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  AffineMap row = b.dims(rank, allBut(rank, dim));
  Value x = b.widen(operands[0]);
  Value greatest = b.reduce(ReduceKind::Max, x, dim);
  Value e = b.map(type.getShape(), {x, greatest}, {all, row}, [](ScalarBuilder s, ValueRange a) {
    return math::ExpOp::create(s.builder, s.loc, subtract(s, a[0], a[1])).getResult();
  });
  Value sum = b.reduce(ReduceKind::Sum, e, dim);
  Value result;
  if (getLog()) {
    auto rowShape = cast<RankedTensorType>(sum.getType()).getShape();
    Value log = b.map(rowShape, sum, {}, [](ScalarBuilder s, ValueRange a) {
      return math::LogOp::create(s.builder, s.loc, a[0]).getResult();
    });
    result = b.map(
        type.getShape(), {x, greatest, log}, {all, row, row},
        [](ScalarBuilder s, ValueRange a) { return subtract(s, subtract(s, a[0], a[1]), a[2]); });
  } else {
    // One division a row, a product an element.
    auto rowShape = cast<RankedTensorType>(sum.getType()).getShape();
    Value factor = b.map(rowShape, sum, {}, [&](ScalarBuilder s, ValueRange a) {
      return divide(s, s.constant(b.compute, 1), a[0]);
    });
    result = b.map(type.getShape(), {e, factor}, {all, row},
                   [](ScalarBuilder s, ValueRange a) { return s.mul(a[0], a[1]); });
  }
  return {b.narrow(result, getType())};
}

/// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale [+ bias]; without
/// `centre` the mean is not taken off.
static Value buildNorm(const FloatBody &b, Value operand, Value scale, Value bias, int64_t dim,
                       double epsilon, bool centre, Type resultType) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rank = type.getRank();
  ArrayRef<int64_t> shape = type.getShape();
  auto rowDims = llvm::to_vector(llvm::seq<int64_t>(dim, rank));
  AffineMap all = b.builder.getMultiDimIdentityMap(rank);
  AffineMap outer = b.dims(rank, llvm::to_vector(llvm::seq<int64_t>(0, dim)));
  AffineMap inner = b.dims(rank, rowDims);
  ArrayRef<int64_t> outerShape = shape.take_front(dim);
  double count = 1;
  for (int64_t size : shape.drop_front(dim))
    count *= size;
  auto mean = [&](Value tensor) {
    return b.map(outerShape, b.reduce(ReduceKind::Sum, tensor, rowDims), {},
                 [&](ScalarBuilder s, ValueRange a) {
                   return divide(s, a[0], s.constant(b.compute, count));
                 });
  };
  Value x = b.widen(operand);
  if (centre)
    x = b.map(shape, {x, mean(x)}, {all, outer},
              [](ScalarBuilder s, ValueRange a) { return subtract(s, a[0], a[1]); });
  Value square =
      b.map(shape, x, {}, [](ScalarBuilder s, ValueRange a) { return s.mul(a[0], a[0]); });
  Value factor = b.map(outerShape, mean(square), {}, [&](ScalarBuilder s, ValueRange a) {
    Value root =
        math::SqrtOp::create(s.builder, s.loc, s.add(a[0], s.constant(b.compute, epsilon)));
    return divide(s, s.constant(b.compute, 1), root);
  });
  SmallVector<Value> inputs = {x, factor, b.widen(scale)};
  SmallVector<AffineMap> maps = {all, outer, inner};
  if (bias) {
    inputs.push_back(b.widen(bias));
    maps.push_back(inner);
  }
  Value result = b.map(shape, inputs, maps, [&](ScalarBuilder s, ValueRange a) {
    Value scaled = s.mul(s.mul(a[0], a[1]), a[2]);
    return bias ? s.add(scaled, a[3]) : scaled;
  });
  return b.narrow(result, resultType);
}

SmallVector<Value> LayerNormOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  FloatBody b(builder, loc, elementOf(getOperand()));
  return {buildNorm(b, operands[0], operands[1], operands.size() > 2 ? operands[2] : Value(),
                    getDim(), getEpsilon().convertToDouble(), true, getType())};
}

SmallVector<Value> RmsNormOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  FloatBody b(builder, loc, elementOf(getOperand()));
  return {buildNorm(b, operands[0], operands[1], {}, getDim(), getEpsilon().convertToDouble(),
                    false, getType())};
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

unsigned RopeOp::getParallelDims() { return getType().getRank() - 1; }

SmallVector<Value> RopeOp::buildBody(OpBuilder &builder, Location loc, ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  FloatBody b(builder, loc, type.getElementType());
  int64_t rank = type.getRank(), half = type.getShape().back() / 2;
  // As ... x 2 x D/2 (or ... x D/2 x 2) both members of a pair are plain reads.
  int64_t member = getInterleaved() ? rank : rank - 1;
  int64_t pair = getInterleaved() ? rank - 1 : rank;
  SmallVector<int64_t> shape(type.getShape().drop_back());
  shape.resize(rank + 1);
  shape[member] = 2;
  shape[pair] = half;
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d + 1 < rank; ++d)
    groups.push_back({d});
  groups.push_back({rank - 1, rank});
  Value x = tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), operands[0], groups);
  auto memberMap = [&](int64_t which) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d <= rank; ++d)
      exprs.push_back(d == member ? builder.getAffineConstantExpr(which)
                                  : builder.getAffineDimExpr(d));
    return AffineMap::get(rank + 1, 0, exprs, builder.getContext());
  };
  AffineMap angle = b.dims(rank + 1, allBut(rank + 1, member));
  Value rotated =
      b.map(shape, {x, x, operands[1], operands[2]}, {memberMap(0), memberMap(1), angle, angle},
            [&](ScalarBuilder s, ValueRange a) {
              Value p = s.roundTo(a[0], b.compute), q = s.roundTo(a[1], b.compute);
              Value cosine = s.roundTo(a[2], b.compute);
              Value sine = s.roundTo(a[3], b.compute);
              Value first = subtract(s, s.mul(p, cosine), s.mul(q, sine));
              Value second = s.add(s.mul(q, cosine), s.mul(p, sine));
              Value isFirst = arith::CmpIOp::create(
                  s.builder, s.loc, arith::CmpIPredicate::eq,
                  linalg::IndexOp::create(s.builder, s.loc, member), s.index(0));
              return arith::SelectOp::create(s.builder, s.loc, isFirst, first, second).getResult();
            });
  Value joined =
      tensor::CollapseShapeOp::create(builder, loc, b.typed(type.getShape()), rotated, groups);
  return {b.narrow(joined, getType())};
}
