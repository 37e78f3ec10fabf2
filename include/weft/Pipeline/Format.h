// Numbers and words in a text, by printf's patterns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINE_FORMAT_H
#define WEFT_PIPELINE_FORMAT_H

#include <string>

namespace weft::pipeline {

/// As printf would print it, however long it is.
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

} // namespace weft::pipeline

#endif // WEFT_PIPELINE_FORMAT_H
