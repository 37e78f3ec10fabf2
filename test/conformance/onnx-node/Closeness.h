// When an element is what the suite recorded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_CLOSENESS_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_CLOSENESS_H

#include <algorithm>
#include <cmath>

namespace weft::conformance {

/// The suite's tolerance of floats: relative 1e-3 and absolute 1e-7, infinities exactly. Where the
/// type has a significand of at most 11 bits (`digits`; 0: it has more) an element may be `units`
/// in the last place off instead.
inline bool isClose(double found, double expected, unsigned units, int digits) {
  if (found == expected || (std::isnan(found) && std::isnan(expected)))
    return true;
  if (!std::isfinite(found) || !std::isfinite(expected))
    return false;
  int exponent = 0;
  std::frexp(expected, &exponent);
  double lastPlace = digits ? std::ldexp(1.0, exponent - digits) : 0;
  return std::fabs(found - expected) <=
         std::max(1e-7 + 1e-3 * std::fabs(expected), units * lastPlace);
}

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_CLOSENESS_H
