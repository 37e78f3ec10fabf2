// Checks that a program's tables may be used without further checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_PROGRAMVERIFIER_H
#define WEFT_RUNTIME_LIB_PROGRAMVERIFIER_H

#include "weft/runtime/Program.h"

#include <optional>

namespace weft::runtime {

/// `program`'s sections are known to lie in the blob; everything else is
/// checked.
Status verifyProgram(const ProgramView &program);

/// The checks of one body's commands; the tables are checked already.
Status verifyBody(const ProgramView &program, const Body &body, uint64_t arenaBytes);

/// The arithmetic of hostile numbers: empty when a result leaves int64_t.
std::optional<int64_t> checkedProduct(Table<int64_t> factors);
inline std::optional<int64_t> checkedProduct(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}
inline std::optional<int64_t> checkedSum(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

inline bool inRange(Range range, uint64_t size) {
  return uint64_t(range.begin) + range.count <= size;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_PROGRAMVERIFIER_H
