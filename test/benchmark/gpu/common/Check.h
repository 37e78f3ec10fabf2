// Comparison of what a device wrote with a reference in higher precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <vector>

namespace weft::gpukit {

/// Two bounds, because either alone misses a fault: the norm dilutes one wrong
/// element among many, and a bound on single elements alone lets a small error
/// everywhere pass.
struct Tolerance {
  double norm;    ///< bound of |out - ref| / |ref|, Euclidean over all compared
                  ///< elements
  double element; ///< bound of every |out_i - ref_i| over the root mean square
                  ///< of ref, or over |ref_i|, which it is rounded to, where that is larger
};

/// bf16 results of fp32 accumulation: each rounded to 8 bits, 2^-9 of itself at
/// most.
inline constexpr Tolerance bf16Tolerance{5e-3, 3e-2};

struct Check {
  bool ok = false;
  double normError = 0, elementError = 0;
  size_t compared = 0;
  size_t notFinite = 0; ///< compared elements that are NaN or infinite: poison
                        ///< left, or a wrong result
};

/// A NaN or an infinity on either side, a length mismatch and an empty
/// comparison all fail.
Check compare(const std::vector<double> &out, const std::vector<double> &reference,
              Tolerance tolerance);

/// Compares rows of `width` elements each on its own scale: where rows differ
/// in size by orders of magnitude, one bound for all would not see the small
/// ones. Rows smaller than `least` of the whole's root mean square are held to
/// that: what is left of a difference of large terms has the terms' rounding.
Check compareRows(const std::vector<double> &out, const std::vector<double> &reference,
                  size_t width, Tolerance tolerance, double least);

/// Holds when both do, with the larger of each error.
Check both(Check a, const Check &b);

} // namespace weft::gpukit
