// Elements of reductions: neutral ones, and how two are combined.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/Reduction.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace weft {

static bool isUnsigned(mlir::Type type) {
  return type.isUnsignedInteger() || type.isSignlessInteger(1);
}

Scalar neutralElement(ReduceKind kind, mlir::Type type) {
  Scalar scalar;
  double infinity = std::numeric_limits<double>::infinity();
  unsigned width = isa<mlir::FloatType>(type) ? 0 : type.getIntOrFloatBitWidth();
  bool isSigned = !isUnsigned(type);
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Or:
    break;
  case ReduceKind::Prod:
    scalar.real = 1;
    scalar.integer = 1;
    break;
  case ReduceKind::Max:
    scalar.real = -infinity;
    if (width)
      scalar.integer = isSigned ? APInt::getSignedMinValue(width).getSExtValue() : 0;
    break;
  case ReduceKind::Min:
    scalar.real = infinity;
    if (width)
      scalar.integer = isSigned ? APInt::getSignedMaxValue(width).getSExtValue()
                                : static_cast<int64_t>(APInt::getMaxValue(width).getZExtValue());
    break;
  case ReduceKind::And:
    if (width)
      scalar.integer =
          isSigned ? -1 : static_cast<int64_t>(APInt::getMaxValue(width).getZExtValue());
    break;
  }
  return scalar;
}

static double combineReal(ReduceKind kind, double a, double b) {
  switch (kind) {
  case ReduceKind::Sum:
    return a + b;
  case ReduceKind::Prod:
    return a * b;
  case ReduceKind::Max:
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
  case ReduceKind::Min:
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
  case ReduceKind::And:
  case ReduceKind::Or:
    break;
  }
  llvm_unreachable("and, or are for integers");
}

Scalar combine(ReduceKind kind, Scalar a, Scalar b, mlir::Type type) {
  Scalar result;
  if (isa<mlir::FloatType>(type)) {
    result.real = combineReal(kind, a.real, b.real);
    return result;
  }
  // Unsigned arithmetic wraps without undefined behaviour.
  uint64_t x = a.integer, y = b.integer;
  bool less = isUnsigned(type) ? x < y : a.integer < b.integer;
  switch (kind) {
  case ReduceKind::Sum:
    result.integer = x + y;
    break;
  case ReduceKind::Prod:
    result.integer = x * y;
    break;
  case ReduceKind::Max:
    result.integer = less ? y : x;
    break;
  case ReduceKind::Min:
    result.integer = less ? x : y;
    break;
  case ReduceKind::And:
    result.integer = x & y;
    break;
  case ReduceKind::Or:
    result.integer = x | y;
    break;
  }
  return roundToType(result, type);
}

} // namespace weft
