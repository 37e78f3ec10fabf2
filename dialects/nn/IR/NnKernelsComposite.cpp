// Code of softmax, norms, rotary embedding and attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::nn;

namespace {

/// Builds a body in the type in which a composite op computes: f64, or f32 for
/// f32 and smaller floats.
struct FloatBody {
  OpBuilder &builder;
  Location loc;
  Type compute;

  FloatBody(OpBuilder &builder, Location loc, Type element)
      : builder(builder), loc(loc),
        compute(element.isF64() ? element : Type(builder.getF32Type())) {}

  RankedTensorType typed(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, compute);
  }

  Value map(ArrayRef<int64_t> shape, ValueRange inputs,
            ArrayRef<AffineMap> maps, BodyFn body) const {
    return buildParallel(builder, loc, typed(shape), inputs, maps, body);
  }

  Value widen(Value tensor) const {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.getElementType() == compute)
      return tensor;
    return map(type.getShape(), tensor, {},
               [&](ScalarBuilder s, ValueRange arguments) {
                 return s.roundTo(arguments[0], compute);
               });
  }

  Value narrow(Value tensor, Type resultType) const {
    RankedTensorType type = bodyType(resultType);
    if (tensor.getType() == type)
      return tensor;
    return buildParallel(builder, loc, type, tensor, {},
                         [&](ScalarBuilder s, ValueRange arguments) {
                           return s.roundTo(arguments[0],
                                            type.getElementType());
                         });
  }

  Value reduce(ReduceKind kind, Value tensor, ArrayRef<int64_t> dims) const {
    return buildReduceDims(builder, loc, kind, tensor, dims, compute);
  }

  /// Names the dims of a space of `rank` dims.
  AffineMap dims(unsigned rank, ArrayRef<int64_t> positions) const {
    SmallVector<AffineExpr> exprs;
    for (int64_t position : positions)
      exprs.push_back(builder.getAffineDimExpr(position));
    return AffineMap::get(rank, 0, exprs, builder.getContext());
  }
};

} // namespace

static Value subtract(ScalarBuilder s, Value a, Value b) {
  return arith::SubFOp::create(s.builder, s.loc, a, b);
}
static Value divide(ScalarBuilder s, Value a, Value b) {
  return arith::DivFOp::create(s.builder, s.loc, a, b);
}
static Value isEqual(ScalarBuilder s, Value a, double b) {
  return arith::CmpFOp::create(s.builder, s.loc, arith::CmpFPredicate::OEQ, a,
                               s.constant(a.getType(), b));
}

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

SmallVector<Value> SoftmaxOp::buildBody(OpBuilder &builder, Location loc,
                                        ValueRange operands) {
  RankedTensorType type = bodyType(getType());
  FloatBody b(builder, loc, type.getElementType());
  int64_t rank = type.getRank(), dim = getDim();
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  AffineMap row = b.dims(rank, allBut(rank, dim));
  Value x = b.widen(operands[0]);
  Value greatest = b.reduce(ReduceKind::Max, x, dim);
  Value e = b.map(type.getShape(), {x, greatest}, {all, row},
                  [](ScalarBuilder s, ValueRange a) {
                    return math::ExpOp::create(s.builder, s.loc,
                                               subtract(s, a[0], a[1]))
                        .getResult();
                  });
  Value sum = b.reduce(ReduceKind::Sum, e, dim);
  Value result;
  if (getLog()) {
    auto rowShape = cast<RankedTensorType>(sum.getType()).getShape();
    Value log = b.map(rowShape, sum, {}, [](ScalarBuilder s, ValueRange a) {
      return math::LogOp::create(s.builder, s.loc, a[0]).getResult();
    });
    result = b.map(type.getShape(), {x, greatest, log}, {all, row, row},
                   [](ScalarBuilder s, ValueRange a) {
                     return subtract(s, subtract(s, a[0], a[1]), a[2]);
                   });
  } else {
    // One division a row, a product an element.
    auto rowShape = cast<RankedTensorType>(sum.getType()).getShape();
    Value factor = b.map(rowShape, sum, {}, [&](ScalarBuilder s, ValueRange a) {
      return divide(s, s.constant(b.compute, 1), a[0]);
    });
    result =
        b.map(type.getShape(), {e, factor}, {all, row},
              [](ScalarBuilder s, ValueRange a) { return s.mul(a[0], a[1]); });
  }
  return {b.narrow(result, getType())};
}

/// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale [+ bias]; without
/// `centre` the mean is not taken off.
static Value buildNorm(const FloatBody &b, Value operand, Value scale,
                       Value bias, int64_t dim, double epsilon, bool centre,
                       Type resultType) {
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
    x = b.map(
        shape, {x, mean(x)}, {all, outer},
        [](ScalarBuilder s, ValueRange a) { return subtract(s, a[0], a[1]); });
  Value square = b.map(shape, x, {}, [](ScalarBuilder s, ValueRange a) {
    return s.mul(a[0], a[0]);
  });
  Value factor =
      b.map(outerShape, mean(square), {}, [&](ScalarBuilder s, ValueRange a) {
        Value root = math::SqrtOp::create(
            s.builder, s.loc, s.add(a[0], s.constant(b.compute, epsilon)));
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

SmallVector<Value> LayerNormOp::buildBody(OpBuilder &builder, Location loc,
                                          ValueRange operands) {
  FloatBody b(builder, loc, elementOf(getOperand()));
  return {buildNorm(b, operands[0], operands[1],
                    operands.size() > 2 ? operands[2] : Value(), getDim(),
                    getEpsilon().convertToDouble(), true, getType())};
}

SmallVector<Value> RmsNormOp::buildBody(OpBuilder &builder, Location loc,
                                        ValueRange operands) {
  FloatBody b(builder, loc, elementOf(getOperand()));
  return {buildNorm(b, operands[0], operands[1], {}, getDim(),
                    getEpsilon().convertToDouble(), false, getType())};
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

unsigned RopeOp::getParallelDims() { return getType().getRank() - 1; }

SmallVector<Value> RopeOp::buildBody(OpBuilder &builder, Location loc,
                                     ValueRange operands) {
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
      builder, loc, RankedTensorType::get(shape, type.getElementType()),
      operands[0], groups);
  auto memberMap = [&](int64_t which) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d <= rank; ++d)
      exprs.push_back(d == member ? builder.getAffineConstantExpr(which)
                                  : builder.getAffineDimExpr(d));
    return AffineMap::get(rank + 1, 0, exprs, builder.getContext());
  };
  AffineMap angle = b.dims(rank + 1, allBut(rank + 1, member));
  Value rotated = b.map(
      shape, {x, x, operands[1], operands[2]},
      {memberMap(0), memberMap(1), angle, angle},
      [&](ScalarBuilder s, ValueRange a) {
        Value p = s.roundTo(a[0], b.compute), q = s.roundTo(a[1], b.compute);
        Value cosine = s.roundTo(a[2], b.compute);
        Value sine = s.roundTo(a[3], b.compute);
        Value first = subtract(s, s.mul(p, cosine), s.mul(q, sine));
        Value second = s.add(s.mul(q, cosine), s.mul(p, sine));
        Value isFirst = arith::CmpIOp::create(
            s.builder, s.loc, arith::CmpIPredicate::eq,
            linalg::IndexOp::create(s.builder, s.loc, member), s.index(0));
        return arith::SelectOp::create(s.builder, s.loc, isFirst, first, second)
            .getResult();
      });
  Value joined = tensor::CollapseShapeOp::create(
      builder, loc, b.typed(type.getShape()), rotated, groups);
  return {b.narrow(joined, getType())};
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

std::optional<LibraryCall> AttentionOp::getLibraryCall() {
  AttentionCall call;
  call.scale = getScale().convertToDouble();
  call.causal = getCausal();
  call.softcap = getSoftcap().convertToDouble();
  return LibraryCall(call);
}

unsigned AttentionOp::getParallelDims() { return 3; }

SmallVector<Value> AttentionOp::buildBody(OpBuilder &builder, Location loc,
                                          ValueRange operands) {
  FloatBody b(builder, loc, elementOf(getQuery()));
  RankedTensorType type = bodyType(getType());
  auto queryType = cast<RankedTensorType>(operands[0].getType());
  auto keyType = cast<RankedTensorType>(operands[1].getType());
  auto valueType = cast<RankedTensorType>(operands[2].getType());
  int64_t batch = queryType.getDimSize(0), heads = queryType.getDimSize(1);
  int64_t rows = queryType.getDimSize(2);
  int64_t groups = keyType.getDimSize(1), columns = keyType.getDimSize(2);
  int64_t width = valueType.getDimSize(3), each = heads / groups;
  // Query heads as (groups x heads of a group).
  SmallVector<ReassociationIndices> headGroups = {{0}, {1, 2}, {3}, {4}};
  auto grouped = [&](Value tensor) -> Value {
    auto from = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape = {batch, groups, each, from.getDimSize(2),
                                  from.getDimSize(3)};
    return tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, from.getElementType()),
        tensor, headGroups);
  };
  SmallVector<int64_t> scoreShape = {batch, groups, each, rows, columns};
  AffineMap scoreMap = builder.getMultiDimIdentityMap(5);
  AffineMap rowMap = b.dims(5, {0, 1, 2, 3});
  Value query = grouped(operands[0]);
  ScalarBuilder outer{builder, loc};
  Value zero = outer.constant(b.compute, 0);
  // Loops b, g, each, s, t, d.
  Value dots = buildReduction(
      builder, loc, b.typed(scoreShape), zero, {query, operands[1]},
      {b.dims(6, {0, 1, 2, 3, 5}), b.dims(6, {0, 1, 4, 5})},
      b.dims(6, {0, 1, 2, 3, 4}), [&](ScalarBuilder s, ValueRange a) {
        Value product = arith::MulFOp::create(
            s.builder, s.loc, s.roundTo(a[0], b.compute),
            s.roundTo(a[1], b.compute), arith::FastMathFlags::contract);
        return arith::AddFOp::create(s.builder, s.loc, a[2], product,
                                     arith::FastMathFlags::contract |
                                         arith::FastMathFlags::reassoc)
            .getResult();
      });
  SmallVector<Value> scoreInputs = {dots};
  if (getMask())
    scoreInputs.push_back(grouped(operands[3]));
  double softcap = getSoftcap().convertToDouble();
  Value scores =
      b.map(scoreShape, scoreInputs, {}, [&](ScalarBuilder s, ValueRange a) {
        Value score =
            s.mul(a[0], s.constant(b.compute, getScale().convertToDouble()));
        if (softcap > 0) {
          Value cap = s.constant(b.compute, softcap);
          score = s.mul(cap, math::TanhOp::create(s.builder, s.loc,
                                                  divide(s, score, cap)));
        }
        if (getMask())
          score = s.add(score, s.roundTo(a[1], b.compute));
        if (getCausal()) {
          Value row = linalg::IndexOp::create(s.builder, s.loc, 3);
          Value column = linalg::IndexOp::create(s.builder, s.loc, 4);
          Value last = s.add(row, s.index(columns - rows));
          Value seen = arith::CmpIOp::create(
              s.builder, s.loc, arith::CmpIPredicate::sle, column, last);
          score = arith::SelectOp::create(s.builder, s.loc, seen, score,
                                          s.constant(b.compute, -INFINITY));
        }
        return score;
      });
  Value greatest = b.reduce(ReduceKind::Max, scores, 4);
  Value e = b.map(
      scoreShape, {scores, greatest}, {scoreMap, rowMap},
      [&](ScalarBuilder s, ValueRange a) {
        // A row that sees nothing has the maximum -inf; its weights are 0.
        Value base = arith::SelectOp::create(s.builder, s.loc,
                                             isEqual(s, a[1], -INFINITY),
                                             s.constant(b.compute, 0), a[1]);
        return math::ExpOp::create(s.builder, s.loc, subtract(s, a[0], base))
            .getResult();
      });
  Value sum = b.reduce(ReduceKind::Sum, e, 4);
  // Loops b, g, each, s, t, e: the sum over t runs outside the width.
  SmallVector<int64_t> outShape = {batch, groups, each, rows, width};
  Value weighted = buildReduction(
      builder, loc, b.typed(outShape), zero, {e, operands[2]},
      {b.dims(6, {0, 1, 2, 3, 4}), b.dims(6, {0, 1, 4, 5})},
      b.dims(6, {0, 1, 2, 3, 5}), [&](ScalarBuilder s, ValueRange a) {
        Value product = arith::MulFOp::create(s.builder, s.loc, a[0],
                                              s.roundTo(a[1], b.compute),
                                              arith::FastMathFlags::contract);
        return arith::AddFOp::create(s.builder, s.loc, a[2], product,
                                     arith::FastMathFlags::contract)
            .getResult();
      });
  Value out =
      b.map(outShape, {weighted, sum}, {scoreMap, rowMap},
            [&](ScalarBuilder s, ValueRange a) {
              Value nothing = isEqual(s, a[1], 0);
              Value divisor = arith::SelectOp::create(
                  s.builder, s.loc, nothing, s.constant(b.compute, 1), a[1]);
              return divide(s, a[0], divisor);
            });
  Value joined = tensor::CollapseShapeOp::create(
      builder, loc, b.typed(type.getShape()), out, headGroups);
  return {b.narrow(joined, getType())};
}
