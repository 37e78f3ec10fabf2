// An array's values in one line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_BASE_VALUESTEXT_H
#define WEFT_RUNTIME_LIB_BASE_VALUESTEXT_H

#include "weft/runtime/Program.h"

#include <string>

namespace weft::runtime {

/// The element at `at`: of integers, which are ids and indices, every digit, of others six.
std::string valueText(DType type, const void *data, int64_t at);

/// "[1, 2, 3]"; of more than eight values the first ones, then the least, the
/// largest and the mean of all. The mean of values with a NaN is NaN, the
/// least and the largest are those of all others.
std::string valuesText(DType type, const void *data, int64_t count);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_BASE_VALUESTEXT_H
