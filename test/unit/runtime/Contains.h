// Says of a text what it must contain, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_RUNTIME_CONTAINS_H
#define WEFT_TEST_UNIT_RUNTIME_CONTAINS_H

#include <gtest/gtest.h>

#include <string>

namespace weft::runtime {

inline void expectPart(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

} // namespace weft::runtime

#endif // WEFT_TEST_UNIT_RUNTIME_CONTAINS_H
