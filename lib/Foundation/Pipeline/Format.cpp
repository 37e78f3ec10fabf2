// Numbers and words in a text, by printf's patterns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Format.h"

#include <cstdarg>
#include <cstdio>

std::string weft::pipeline::format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(size_t(std::vsnprintf(nullptr, 0, pattern, arguments)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}
