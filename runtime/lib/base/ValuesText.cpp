// An array's values in one line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/ValuesText.h"
#include "base/Convert.h"

#include <cmath>
#include <cstdio>
#include <type_traits>

using namespace weft::runtime;

static std::string numberText(const char *before, double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::string(before) + text;
}

std::string weft::runtime::valueText(DType type, const void *data, int64_t at) {
  std::string text;
  withType(type, [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_integral_v<T>)
      text = std::to_string(static_cast<const T *>(data)[at]);
  });
  if (!text.empty())
    return text;
  double value = 0;
  convertElements(type, static_cast<const char *>(data) + at * dtypeBytes(type), DType::F64, &value,
                  1);
  return numberText("", value);
}

std::string weft::runtime::valuesText(DType type, const void *data, int64_t count) {
  constexpr int64_t kShown = 8;
  std::string text = "[";
  for (int64_t i = 0; i < count && i < kShown; ++i)
    text += (i ? ", " : "") + valueText(type, data, i);
  if (count <= kShown)
    return text + "]";
  int64_t low = 0, high = 0;
  double lowest = NAN, greatest = NAN, sum = 0;
  // Large integers that differ may be the same double.
  auto isLess = [&](int64_t a, double valueOfA, int64_t b, double valueOfB) {
    bool less = valueOfA < valueOfB;
    withType(type, [&](auto kind) {
      using T = decltype(kind);
      if constexpr (std::is_integral_v<T>)
        less = static_cast<const T *>(data)[a] < static_cast<const T *>(data)[b];
    });
    return less;
  };
  forEachDouble(type, data, count, [&](int64_t i, double value) {
    if (std::isnan(lowest) || isLess(i, value, low, lowest))
      low = i, lowest = value;
    if (std::isnan(greatest) || isLess(high, greatest, i, value))
      high = i, greatest = value;
    sum += value;
  });
  return text + ", ...] min " + valueText(type, data, low) + " max " + valueText(type, data, high) +
         numberText(" mean ", sum / double(count));
}
