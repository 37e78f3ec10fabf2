// Elementwise ops: reference, partial rules and checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnElementwise.h"
#include "dialects/nn/IR/NnVerify.h"

using namespace mlir;

namespace weft::nn {

bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

bool isUnsigned(Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  return integer && (integer.isUnsigned() || integer.getWidth() == 1);
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

double gelu(double x, bool tanh) {
  if (tanh)
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}

Scalar evaluateShift(Type type, ArrayRef<Scalar> x, bool left) {
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  bool outside = static_cast<uint64_t>(x[1].integer) >= element.getWidth();
  int64_t value = x[0].integer, amount = x[1].integer;
  if (left)
    value = outside ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value) << amount);
  else if (isUnsigned(type))
    value = outside ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value) >> amount);
  else
    value = value >> (outside ? 63 : amount);
  return roundToType(integerScalar(value), element);
}

template <typename T> static bool compareValues(CompareKind kind, T a, T b) {
  switch (kind) {
  case CompareKind::Eq:
    return a == b;
  case CompareKind::Ne:
    return a != b;
  case CompareKind::Lt:
    return a < b;
  case CompareKind::Le:
    return a <= b;
  case CompareKind::Gt:
    return a > b;
  case CompareKind::Ge:
    return a >= b;
  }
  llvm_unreachable("comparison kind");
}

Scalar evaluateCompare(CompareKind kind, Type type, ArrayRef<Scalar> x) {
  if (isFloat(type))
    return boolScalar(compareValues(kind, x[0].real, x[1].real));
  if (isUnsigned(type))
    return boolScalar(compareValues(kind, static_cast<uint64_t>(x[0].integer),
                                    static_cast<uint64_t>(x[1].integer)));
  return boolScalar(compareValues(kind, x[0].integer, x[1].integer));
}

/// Toward zero; what does not fit (unspecified by the op) saturates, NaN gives
/// 0.
static int64_t truncateToInteger(double value, bool isUnsigned) {
  if (std::isnan(value))
    return 0;
  constexpr double kTwo63 = 9223372036854775808.0;
  if (isUnsigned && value >= kTwo63)
    return value >= 2 * kTwo63 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(value));
  if (value >= kTwo63)
    return std::numeric_limits<int64_t>::max();
  if (value < -kTwo63)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

Scalar evaluateCast(Type from, Type to, Scalar x) {
  Type target = getElementTypeOrSelf(to);
  bool toBool = target.isInteger(1);
  if (isFloat(from)) {
    if (isFloat(to))
      return roundToType(x, target);
    if (toBool)
      return boolScalar(x.real != 0);
    return roundToType(integerScalar(truncateToInteger(x.real, isUnsigned(to))), target);
  }
  if (isFloat(to)) {
    // Rounded once: a double does not hold all integers.
    llvm::APFloat real(cast<FloatType>(target).getFloatSemantics());
    real.convertFromAPInt(llvm::APInt(64, static_cast<uint64_t>(x.integer)), !isUnsigned(from),
                          llvm::APFloat::rmNearestTiesToEven);
    bool losesInfo;
    real.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return realScalar(real.convertToDouble());
  }
  return toBool ? boolScalar(x.integer != 0) : roundToType(x, target);
}

SmallVector<HostTensor> evaluateElementwise(ElementwiseOpInterface op,
                                            ArrayRef<HostTensor> operands) {
  HostTensor result(cast<RankedTensorType>(op->getResult(0).getType()));
  SmallVector<Scalar, 3> scalars(operands.size());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    for (auto [scalar, operand] : llvm::zip_equal(scalars, operands))
      scalar = operand.at(i);
    result.set(i, op.evaluateScalar(scalars));
  }
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

PartialRules sumRules(ReduceKind kind, PartialRules rules) {
  return kind == ReduceKind::Sum ? std::move(rules) : PartialRules();
}

PartialRules productRules(ReduceKind kind, PartialRules sums, PartialRules products) {
  if (kind == ReduceKind::Prod)
    return products;
  return sumRules(kind, std::move(sums));
}

PartialRules latticeRules(ReduceKind kind, ReduceKind own, ReduceKind dual) {
  if (kind == own)
    return {{0}, {1}, {0, 1}};
  if (kind == dual)
    return {{0}, {1}};
  return {};
}

PartialRules castRules(ReduceKind kind, Type from, Type to) {
  Type source = getElementTypeOrSelf(from), target = getElementTypeOrSelf(to);
  unsigned sourceWidth = source.getIntOrFloatBitWidth();
  unsigned targetWidth = target.getIntOrFloatBitWidth();
  bool ordered = kind == ReduceKind::Max || kind == ReduceKind::Min;
  if (isFloat(source) && isFloat(target)) {
    // Rounding is monotone, so it commutes with max and min. Narrowing the
    // parts of a sum would round where the whole program does not; f16 and bf16
    // do not hold each other.
    bool widens = source == target || targetWidth > sourceWidth;
    if (ordered || (kind == ReduceKind::Sum && widens))
      return {{0}};
  } else if (!isFloat(source) && !isFloat(target)) {
    // Truncation is a ring homomorphism; extension keeps order, but not sums
    // that wrap. To bool is a test, which is neither.
    bool ring = (kind == ReduceKind::Sum || kind == ReduceKind::Prod) && sourceWidth >= targetWidth;
    bool monotone =
        ordered && targetWidth > sourceWidth && (isUnsigned(source) || !isUnsigned(target));
    if ((ring && (targetWidth > 1 || sourceWidth == 1)) || monotone)
      return {{0}};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Checks and folds
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::verify() {
  return expectElementType(*this, "operand 1", getRhs().getType(), getLhs().getType(),
                           "the type of operand 0");
}

LogicalResult SelectOp::verify() {
  if (failed(expectElementType(*this, "operand 2", getOnFalse().getType(), getOnTrue().getType(),
                               "the type of operand 1")))
    return failure();
  return expectElementType(*this, "result", getType(), getOnTrue().getType(),
                           "the type of operand 1");
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  return getOperand().getType() == getType() ? OpFoldResult(getOperand()) : OpFoldResult();
}

} // namespace weft::nn
