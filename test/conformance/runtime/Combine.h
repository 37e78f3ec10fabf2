// How two elements become one, by the definitions of reductions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_RUNTIME_COMBINE_H
#define WEFT_TEST_CONFORMANCE_RUNTIME_COMBINE_H

#include "weft/runtime/Program.h"

#include <algorithm>
#include <cmath>

namespace weft::runtime {

template <typename T> bool isNan(T value) { return value != value; }

template <typename Acc> Acc combine(Reduction reduction, Acc a, Acc b) {
  switch (reduction) {
  case Reduction::Sum:
    return Acc(a + b);
  case Reduction::Product:
    return Acc(a * b);
  // A NaN of any member is the result, as IEEE 754's maximum and ONNX's Max
  // have it.
  case Reduction::Max:
    return isNan(a) ? a : isNan(b) ? b : std::max(a, b);
  case Reduction::Min:
    return isNan(a) ? a : isNan(b) ? b : std::min(a, b);
  case Reduction::And:
    return Acc(int64_t(a) & int64_t(b));
  case Reduction::Or:
    return Acc(int64_t(a) | int64_t(b));
  }
  return a;
}
/// The nearest number that has the mantissa of `type`, ties to even: rounded
/// once, wherever a float lies. Sums of our inputs are in both types' range.
inline double nearestHalf(double value, DType type) {
  int exponent = 0;
  if (value == 0 || !std::isfinite(value))
    return value;
  std::frexp(value, &exponent);
  int bits = type == DType::BF16 ? 8 : 11, least = type == DType::BF16 ? -133 : -24;
  double unit = std::ldexp(1, std::max(exponent - bits, least));
  return std::nearbyint(value / unit) * unit;
}

} // namespace weft::runtime

#endif // WEFT_TEST_CONFORMANCE_RUNTIME_COMBINE_H
