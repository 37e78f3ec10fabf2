// How far computed values are from expected ones, for all tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_SUPPORT_DISTANCE_H
#define WEFT_TEST_SUPPORT_DISTANCE_H

#include <algorithm>
#include <cmath>

namespace weft::test {

/// What a NaN or an infinity means: no difference where both have the same, or
/// always a wrong result.
enum class Specials { MayAgree, AreWrong };

/// The largest |found - expected|, relative to the largest finite |expected|.
/// Nothing that is not finite makes a distance small: a NaN or an infinity on
/// one side alone is infinitely far, and an expected infinity is no scale.
class Distance {
public:
  explicit Distance(Specials specials, double leastScale = 1e-30)
      : specials(specials), scale(leastScale) {}

  void add(double found, double expected) {
    worst = std::max(worst, between(found, expected));
    if (std::isfinite(expected))
      scale = std::max(scale, std::abs(expected));
  }
  /// An element that sets the scale and is not compared.
  void addUncompared(double expected) {
    if (std::isfinite(expected))
      scale = std::max(scale, std::abs(expected));
  }
  double relative() const { return worst / scale; }

private:
  double between(double found, double expected) const {
    if (std::isfinite(found) && std::isfinite(expected))
      return std::abs(found - expected);
    bool agree = found == expected || (std::isnan(found) && std::isnan(expected));
    return agree && specials == Specials::MayAgree ? 0 : INFINITY;
  }

  Specials specials;
  double worst = 0, scale;
};

} // namespace weft::test

#endif // WEFT_TEST_SUPPORT_DISTANCE_H
