// Scalars, parallel loops and reductions from which bodies are made.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnKernels.h"

#include "weft/Interfaces/KernelAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;

namespace weft::nn {

bool isUnsignedElement(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()); }

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ScalarBuilder::constant(Type type, double value) {
  TypedAttr attribute;
  if (isa<FloatType>(type))
    attribute = builder.getFloatAttr(type, value);
  else
    attribute = builder.getIntegerAttr(type, int64_t(value));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value ScalarBuilder::integer(Type type, int64_t value) {
  // Attributes hold the value truncated to the type's width.
  if (auto integerType = dyn_cast<IntegerType>(type))
    return arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(type, APInt(64, uint64_t(value)).trunc(integerType.getWidth())));
  return index(value);
}

Value ScalarBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ScalarBuilder::neutral(ReduceKind kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    switch (kind) {
    case ReduceKind::Prod:
      return constant(type, 1);
    case ReduceKind::Max:
      return constant(type, -INFINITY);
    case ReduceKind::Min:
      return constant(type, INFINITY);
    default:
      return constant(type, 0);
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = isUnsignedElement(type);
  APInt value = APInt::getZero(width);
  switch (kind) {
  case ReduceKind::Prod:
    value = APInt(width, 1);
    break;
  case ReduceKind::Max:
    value = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
    break;
  case ReduceKind::Min:
    value = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
    break;
  case ReduceKind::And:
    value = APInt::getAllOnes(width);
    break;
  case ReduceKind::Sum:
  case ReduceKind::Or:
    break;
  }
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(signlessElement(type), value));
}

Value ScalarBuilder::widen(Value value) {
  auto type = dyn_cast<FloatType>(value.getType());
  if (!type || type.getWidth() >= 32)
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
}

Value ScalarBuilder::roundTo(Value value, Type type) {
  auto from = dyn_cast<FloatType>(value.getType());
  auto to = dyn_cast<FloatType>(type);
  if (!from || !to || from == to)
    return value;
  if (from.getWidth() == to.getWidth()) // f16 and bf16
    return roundTo(widen(value), type);
  if (from.getWidth() < to.getWidth())
    return arith::ExtFOp::create(builder, loc, to, value);
  if (!from.isF64() || to.getWidth() >= 32)
    return arith::TruncFOp::create(builder, loc, to, value);
  // f64 to 16 bits goes through f32 rounded to odd, which makes the second
  // rounding exact (Boldo and Melquiond, 2008): where f32 is inexact and even,
  // step to the odd neighbour on the value's side.
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  Value nearest = arith::TruncFOp::create(builder, loc, f32, value);
  Value back = arith::ExtFOp::create(builder, loc, from, nearest);
  Value inexact = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ONE, back, value);
  Value bits = arith::BitcastOp::create(builder, loc, i32, nearest);
  Value one = integer(i32, 1);
  Value even =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                            arith::AndIOp::create(builder, loc, bits, one), integer(i32, 0));
  Value grow = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                     math::AbsFOp::create(builder, loc, value),
                                     math::AbsFOp::create(builder, loc, back));
  Value step = arith::SelectOp::create(builder, loc, grow, one, integer(i32, -1));
  Value odd = arith::AddIOp::create(builder, loc, bits, step);
  Value use = arith::AndIOp::create(builder, loc, inexact, even);
  bits = arith::SelectOp::create(builder, loc, use, odd, bits);
  Value rounded = arith::BitcastOp::create(builder, loc, f32, bits);
  return arith::TruncFOp::create(builder, loc, to, rounded);
}

Value ScalarBuilder::cast(Value value, Type from, Type to) {
  Type signlessTo = signlessElement(to);
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (to.isInteger(1)) {
    if (from.isInteger(1))
      return value;
    if (fromFloat) {
      value = widen(value);
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, value,
                                   constant(value.getType(), 0));
    }
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                 integer(value.getType(), 0));
  }
  if (fromFloat && toFloat)
    return roundTo(value, to);
  if (fromFloat) {
    value = widen(value);
    if (isUnsignedElement(to))
      return arith::FPToUIOp::create(builder, loc, signlessTo, value);
    return arith::FPToSIOp::create(builder, loc, signlessTo, value);
  }
  if (toFloat) {
    // Rounded only once: f64 holds all integers that do not become an f16's infinity.
    Type through = to.isF16() ? Type(builder.getF64Type()) : to;
    Value wide = isUnsignedElement(from)
                     ? arith::UIToFPOp::create(builder, loc, through, value).getResult()
                     : arith::SIToFPOp::create(builder, loc, through, value).getResult();
    return roundTo(wide, to);
  }
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return value;
  if (fromWidth > toWidth)
    return arith::TruncIOp::create(builder, loc, signlessTo, value);
  if (isUnsignedElement(from))
    return arith::ExtUIOp::create(builder, loc, signlessTo, value);
  return arith::ExtSIOp::create(builder, loc, signlessTo, value);
}

Value ScalarBuilder::combine(ReduceKind kind, Value lhs, Value rhs, Type type, bool reassociate) {
  if (isa<FloatType>(type)) {
    auto flags = reassociate ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
    switch (kind) {
    case ReduceKind::Prod:
      return arith::MulFOp::create(builder, loc, lhs, rhs, flags);
    case ReduceKind::Max:
      return arith::MaximumFOp::create(builder, loc, lhs, rhs);
    case ReduceKind::Min:
      return arith::MinimumFOp::create(builder, loc, lhs, rhs);
    default:
      return arith::AddFOp::create(builder, loc, lhs, rhs, flags);
    }
  }
  bool isUnsigned = isUnsignedElement(type);
  switch (kind) {
  case ReduceKind::Sum:
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Prod:
    return arith::MulIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Max:
    if (isUnsigned)
      return arith::MaxUIOp::create(builder, loc, lhs, rhs);
    return arith::MaxSIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Min:
    if (isUnsigned)
      return arith::MinUIOp::create(builder, loc, lhs, rhs);
    return arith::MinSIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::And:
    return arith::AndIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Or:
    return arith::OrIOp::create(builder, loc, lhs, rhs);
  }
  llvm_unreachable("covered switch");
}

Value ScalarBuilder::compare(CompareKind kind, Value lhs, Value rhs, Type type) {
  if (isa<FloatType>(type)) {
    static const arith::CmpFPredicate predicates[] = {
        arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
        arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return arith::CmpFOp::create(builder, loc, predicates[unsigned(kind)], widen(lhs), widen(rhs));
  }
  static const arith::CmpIPredicate isSigned[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::slt,
      arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static const arith::CmpIPredicate isUnsigned[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::ult,
      arith::CmpIPredicate::ule, arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  auto predicate = isUnsignedElement(type) ? isUnsigned[unsigned(kind)] : isSigned[unsigned(kind)];
  return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
}

Value ScalarBuilder::sigmoid(Value x) {
  Value one = constant(x.getType(), 1);
  Value e = math::ExpOp::create(builder, loc, arith::NegFOp::create(builder, loc, x));
  return arith::DivFOp::create(builder, loc, one, arith::AddFOp::create(builder, loc, one, e));
}

Value ScalarBuilder::gelu(Value x, bool tanh) {
  Type type = x.getType();
  Value bell;
  if (tanh) {
    Value cube = mul(x, mul(x, x));
    Value inner = add(x, mul(constant(type, 0.044715), cube));
    bell = math::TanhOp::create(builder, loc, mul(constant(type, std::sqrt(2 / M_PI)), inner));
  } else {
    bell = math::ErfOp::create(builder, loc, mul(x, constant(type, M_SQRT1_2)));
  }
  return mul(mul(constant(type, 0.5), x), add(constant(type, 1), bell));
}

Value ScalarBuilder::add(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value ScalarBuilder::mul(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::MulFOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value buildParallel(OpBuilder &builder, Location loc, RankedTensorType resultType,
                    ValueRange inputs, ArrayRef<AffineMap> maps, BodyFn body) {
  unsigned dims = resultType.getRank();
  Value empty =
      tensor::EmptyOp::create(builder, loc, resultType.getShape(), resultType.getElementType());
  AffineMap identity = AffineMap::getMultiDimIdentityMap(dims, builder.getContext());
  SmallVector<AffineMap> allMaps(maps);
  allMaps.resize(inputs.size(), identity);
  allMaps.push_back(identity);
  SmallVector<utils::IteratorType> iterators(dims, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, resultType, inputs, empty, allMaps, iterators,
             [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
               Value result = body({nested, nestedLoc}, arguments);
               linalg::YieldOp::create(nested, nestedLoc, result);
             })
      .getResult(0);
}

Value buildReduction(OpBuilder &builder, Location loc, RankedTensorType resultType, Value init,
                     ValueRange inputs, ArrayRef<AffineMap> inputMaps, AffineMap resultMap,
                     BodyFn body) {
  Value empty =
      tensor::EmptyOp::create(builder, loc, resultType.getShape(), resultType.getElementType());
  Value filled = linalg::FillOp::create(builder, loc, init, empty).getResult(0);
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(resultMap);
  SmallVector<utils::IteratorType> iterators(resultMap.getNumDims(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : resultMap.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] = utils::IteratorType::parallel;
  return linalg::GenericOp::create(
             builder, loc, resultType, inputs, filled, maps, iterators,
             [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
               Value result = body({nested, nestedLoc}, arguments);
               linalg::YieldOp::create(nested, nestedLoc, result);
             })
      .getResult(0);
}

/// How a long f32 sum is taken. Sums of parts that are added up after have an error that grows with
/// the lengths of both instead of with their product.
struct SumPlan {
  /// Of several dims, the number of last ones whose sums are taken first.
  size_t innerDims = 0;
  /// The size of the pieces of one dim whose sums are taken first.
  int64_t piece = 0;
  /// Too many parts for that: in f64.
  bool isWide = false;
};

/// Sums of parts wait on the stack, of 64 columns at most.
static constexpr int64_t kMostParts = 1024;

static SumPlan planDim(int64_t size, bool lanes) {
  // Lanes are short sums already, and rows of norms are best read in one go.
  const int64_t inOneGo = lanes ? 8192 : 256, longest = lanes ? 512 : 64;
  if (size <= inOneGo)
    return {};
  auto isPiece = [&](int64_t piece) { return size % piece == 0 && size / piece <= kMostParts; };
  for (int64_t piece = longest; piece >= longest / 16; --piece)
    if (isPiece(piece))
      return {0, piece, false};
  for (int64_t piece = longest + 1; piece <= inOneGo; ++piece)
    if (isPiece(piece))
      return {0, piece, false};
  return {0, 0, size > kMostParts * longest};
}

static SumPlan planSum(RankedTensorType type, ArrayRef<int64_t> dims, bool lanes) {
  int64_t inner = 1, outer = 1;
  for (int64_t dim : dims)
    outer *= type.getDimSize(dim);
  for (size_t count = 1; count < dims.size(); ++count) {
    int64_t size = type.getDimSize(dims[dims.size() - count]);
    inner *= size;
    outer /= std::max<int64_t>(size, 1);
    if (inner < 64)
      continue;
    if (outer >= 4)
      return {outer <= kMostParts ? count : 0, 0, outer > kMostParts};
    break;
  }
  return planDim(type.getDimSize(lanes ? dims.back() : dims.front()), lanes);
}

Value buildReduceDims(OpBuilder &builder, Location loc, ReduceKind kind, Value operand,
                      ArrayRef<int64_t> dims, Type accumulate) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (kind == ReduceKind::Sum && accumulate.isF32() && !dims.empty()) {
    int64_t last = type.getRank() - 1;
    bool lanes = dims.back() == last;
    SumPlan plan = planSum(type, dims, lanes);
    if (plan.isWide) {
      Value sums = buildReduceDims(builder, loc, kind, operand, dims, builder.getF64Type());
      auto wide = cast<RankedTensorType>(sums.getType());
      return buildParallel(builder, loc, wide.clone(accumulate), sums, {},
                           [&](ScalarBuilder s, ValueRange arguments) {
                             return s.roundTo(arguments[0], accumulate);
                           });
    }
    if (size_t inner = plan.innerDims) {
      Value sums = buildReduceDims(builder, loc, kind, operand, dims.take_back(inner), accumulate);
      return buildReduceDims(builder, loc, kind, sums, dims.drop_back(inner), accumulate);
    }
    if (plan.piece > 0) {
      int64_t dim = lanes ? last : dims.front();
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] /= plan.piece;
      shape.insert(shape.begin() + dim + 1, plan.piece);
      SmallVector<ReassociationIndices> groups;
      for (int64_t d = 0; d <= last; ++d)
        groups.push_back({d > dim ? d + 1 : d});
      groups[dim].push_back(dim + 1);
      Value pieces = tensor::ExpandShapeOp::create(
          builder, loc, RankedTensorType::get(shape, type.getElementType()), operand, groups);
      Value sums = buildReduceDims(builder, loc, kind, pieces, dim + 1, accumulate);
      return buildReduceDims(builder, loc, kind, sums, dims, accumulate);
    }
  }
  Type accumulateSignless = signlessElement(accumulate);
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> kept;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (llvm::is_contained(dims, d))
      continue;
    shape.push_back(type.getDimSize(d));
    kept.push_back(builder.getAffineDimExpr(d));
  }
  bool lanes = llvm::is_contained(dims, type.getRank() - 1);
  ScalarBuilder scalar{builder, loc};
  Value reduced = buildReduction(builder, loc, RankedTensorType::get(shape, accumulateSignless),
                                 scalar.neutral(kind, accumulate), operand,
                                 builder.getMultiDimIdentityMap(type.getRank()),
                                 AffineMap::get(type.getRank(), 0, kept, builder.getContext()),
                                 [&](ScalarBuilder s, ValueRange arguments) {
                                   Value value = arguments[0];
                                   if (isa<FloatType>(accumulate))
                                     value = s.roundTo(value, accumulateSignless);
                                   return s.combine(kind, arguments[1], value, accumulate, lanes);
                                 });
  reduced.getDefiningOp()->setAttr(kAnyOrderAttr, builder.getUnitAttr());
  return reduced;
}

SmallVector<Value> loopIndices(ScalarBuilder s, unsigned count) {
  SmallVector<Value> indices;
  for (unsigned i = 0; i < count; ++i)
    indices.push_back(linalg::IndexOp::create(s.builder, s.loc, i));
  return indices;
}

Value extractIf(ScalarBuilder s, Value condition, Value tensor, ValueRange indices,
                Value otherwise) {
  if (!condition)
    return tensor::ExtractOp::create(s.builder, s.loc, tensor, indices);
  auto branch = scf::IfOp::create(
      s.builder, s.loc, condition,
      [&](OpBuilder &nested, Location loc) {
        Value value = tensor::ExtractOp::create(nested, loc, tensor, indices);
        scf::YieldOp::create(nested, loc, value);
      },
      [&](OpBuilder &nested, Location loc) { scf::YieldOp::create(nested, loc, otherwise); });
  return branch.getResult(0);
}

} // namespace weft::nn
