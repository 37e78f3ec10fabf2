// An array's values in one line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/ValuesText.h"
#include "base/Convert.h"

#include <cmath>
#include <cstdio>
#include <vector>

using namespace weft::runtime;

static std::string numberText(const char *before, double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::string(before) + text;
}

std::string weft::runtime::valuesText(DType type, const void *data, int64_t count) {
  constexpr int64_t kShown = 8;
  std::vector<double> values(size_t(count), 0.0);
  convertElements(type, data, DType::F64, values.data(), count);
  std::string text = "[";
  for (int64_t i = 0; i < count && i < kShown; ++i)
    text += numberText(i ? ", " : "", values[size_t(i)]);
  if (count <= kShown)
    return text + "]";
  double low = HUGE_VAL, high = -HUGE_VAL, sum = 0;
  for (double value : values) {
    low = value < low ? value : low;
    high = value > high ? value : high;
    sum += value;
  }
  if (low > high) // nothing but NaN
    low = high = NAN;
  return text + ", ...]" + numberText(" min ", low) + numberText(" max ", high) +
         numberText(" mean ", sum / double(count));
}
