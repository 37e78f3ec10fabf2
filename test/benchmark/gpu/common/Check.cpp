// Comparison of what a device wrote with a reference in higher precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Check.h"

#include <algorithm>
#include <cmath>

namespace weft::gpukit {

Check compare(const std::vector<double> &out, const std::vector<double> &reference,
              Tolerance tolerance) {
  Check check;
  check.compared = std::min(out.size(), reference.size());
  double error = 0, scale = 0, worst = 0;
  for (size_t i = 0; i < check.compared; ++i) {
    if (!std::isfinite(out[i]) || !std::isfinite(reference[i])) {
      ++check.notFinite;
      continue;
    }
    double difference = std::fabs(out[i] - reference[i]);
    error += difference * difference;
    scale += reference[i] * reference[i];
  }
  double rms = std::sqrt(scale / double(check.compared));
  for (size_t i = 0; i < check.compared; ++i)
    if (std::isfinite(out[i]) && std::isfinite(reference[i]))
      worst = std::max(worst,
                       std::fabs(out[i] - reference[i]) / std::max(rms, std::fabs(reference[i])));
  if (scale > 0) {
    check.normError = std::sqrt(error / scale);
    check.elementError = worst;
  } else {
    // A reference of zeros shows nothing unless the output is exactly zero.
    check.normError = check.elementError = error > 0 ? INFINITY : 0;
  }
  check.ok = check.compared > 0 && out.size() == reference.size() && check.notFinite == 0 &&
             check.normError <= tolerance.norm && check.elementError <= tolerance.element;
  return check;
}

Check compareRows(const std::vector<double> &out, const std::vector<double> &reference,
                  size_t width, Tolerance tolerance, double least) {
  Check check;
  check.compared = std::min(out.size(), reference.size());
  double scale = 0;
  for (double value : reference)
    scale += value * value;
  least *= std::sqrt(scale / double(std::max<size_t>(1, reference.size())));
  for (size_t row = 0; row + width <= check.compared; row += width) {
    double error = 0, size = 0, worst = 0;
    for (size_t i = row; i < row + width; ++i) {
      if (!std::isfinite(out[i]) || !std::isfinite(reference[i])) {
        ++check.notFinite;
        continue;
      }
      double difference = std::fabs(out[i] - reference[i]);
      error += difference * difference;
      size += reference[i] * reference[i];
      worst = std::max(worst, difference);
    }
    double rms = std::max(std::sqrt(size / double(width)), least);
    check.normError = std::max(check.normError, std::sqrt(error / double(width)) / rms);
    check.elementError = std::max(check.elementError, worst / rms);
  }
  check.ok = check.compared > 0 && out.size() == reference.size() && check.compared % width == 0 &&
             scale > 0 && check.notFinite == 0 && check.normError <= tolerance.norm &&
             check.elementError <= tolerance.element;
  return check;
}

Check both(Check a, const Check &b) {
  a.ok = a.ok && b.ok;
  a.normError = std::max(a.normError, b.normError);
  a.elementError = std::max(a.elementError, b.elementError);
  a.compared += b.compared;
  a.notFinite += b.notFinite;
  return a;
}

} // namespace weft::gpukit
