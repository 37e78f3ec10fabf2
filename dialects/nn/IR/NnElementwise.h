// What the snippets in NnElementwise.td call: one element's reference.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNELEMENTWISE_H
#define WEFT_DIALECTS_NN_IR_NNELEMENTWISE_H

#include "dialects/nn/IR/Nn.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <type_traits>

namespace weft::nn {

/// True if the element type of `type` (or `type` itself) is a float.
bool isFloat(mlir::Type type);
/// True if integers of this (element) type are read without a sign: `ui*`,
/// bool.
bool isUnsigned(mlir::Type type);

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

inline Scalar realScalar(double value) { return {value, 0}; }
inline Scalar integerScalar(int64_t value) { return {0, value}; }
inline Scalar boolScalar(bool value) { return {0, value}; }

/// Integer arithmetic modulo 2^64; the caller wraps to the element's width.
template <typename T> T wrapAdd(T a, T b) { return T(uint64_t(a) + uint64_t(b)); }
template <typename T> T wrapSub(T a, T b) { return T(uint64_t(a) - uint64_t(b)); }
template <typename T> T wrapMul(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }
template <typename T> T wrapDiv(T a, T b) {
  if (b == 0)
    return 0;
  // The one signed quotient that overflows.
  if (std::is_signed_v<T> && b == T(-1))
    return wrapSub(T(0), a);
  return a / b;
}
template <typename T> T wrapRem(T a, T b) {
  return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
}
template <typename T> T wrapPow(T base, T exponent) {
  if (std::is_signed_v<T> && exponent < T(0)) // The truncated reciprocal.
    return base == T(1) ? T(1) : base != T(-1) ? T(0) : exponent % 2 == 0 ? T(1) : T(-1);
  T power = 1;
  for (; exponent != T(0); exponent /= 2, base = wrapMul(base, base))
    if (exponent % 2 != 0)
      power = wrapMul(power, base);
  return power;
}

inline double maxNan(double a, double b) { return std::isnan(a) || a > b ? a : b; }
inline double minNan(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double gelu(double x, bool tanh);

template <typename Function> Scalar evaluateReal(llvm::ArrayRef<Scalar> x, Function function) {
  if constexpr (std::is_invocable_v<Function, double, double>)
    return realScalar(function(x[0].real, x[1].real));
  else
    return realScalar(function(x[0].real));
}

/// Calls `function` on int64_t or, for unsigned types, uint64_t, and wraps.
template <typename Function>
Scalar evaluateInteger(mlir::Type type, llvm::ArrayRef<Scalar> x, Function function) {
  auto call = [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_invocable_v<Function, T, T>)
      return static_cast<int64_t>(function(T(x[0].integer), T(x[1].integer)));
    else
      return static_cast<int64_t>(function(T(x[0].integer)));
  };
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  int64_t value = isUnsigned(type) ? call(uint64_t(0)) : call(int64_t(0));
  // A bool holds the low bit; rounding to bool would ask for `!= 0`.
  if (element.isInteger(1))
    return integerScalar(value & 1);
  return roundToType(integerScalar(value), element);
}

template <typename Real, typename Integer>
Scalar evaluateNumber(mlir::Type type, llvm::ArrayRef<Scalar> x, Real real, Integer integer) {
  return isFloat(type) ? evaluateReal(x, real) : evaluateInteger(type, x, integer);
}

Scalar evaluateShift(mlir::Type type, llvm::ArrayRef<Scalar> x, bool left);
Scalar evaluateCompare(CompareKind kind, mlir::Type type, llvm::ArrayRef<Scalar> x);
Scalar evaluateCast(mlir::Type from, mlir::Type to, Scalar x);

/// Calls evaluateScalar of `op` at every index.
llvm::SmallVector<HostTensor> evaluateElementwise(ElementwiseOpInterface op,
                                                  llvm::ArrayRef<HostTensor> operands);

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

using PartialRules = llvm::SmallVector<PartialRule>;

/// `rules` if the kind is sum, else none.
PartialRules sumRules(ReduceKind kind, PartialRules rules);
/// Rules of an op that distributes over sums and commutes with products.
PartialRules productRules(ReduceKind kind, PartialRules sums, PartialRules products);
/// Rules of a lattice operation: it is idempotent with its own kind and
/// distributes over its dual.
PartialRules latticeRules(ReduceKind kind, ReduceKind own, ReduceKind dual);
PartialRules castRules(ReduceKind kind, mlir::Type from, mlir::Type to);

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNELEMENTWISE_H
