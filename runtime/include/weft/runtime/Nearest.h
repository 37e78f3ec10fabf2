// The name that a misspelt one may have meant.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_NEAREST_H
#define WEFT_RUNTIME_NEAREST_H

#include <string>
#include <vector>

namespace weft::runtime {

/// Those of `known` that resemble `word`, the nearest first, `most` at most:
/// few letters added, left out, changed or swapped, or one is a part of the
/// other. Upper and lower case are alike.
std::vector<std::string> nearest(const std::string &word, const std::vector<std::string> &known,
                                 size_t most = 3);

/// "; did you mean 'A' or 'B'?", or nothing.
std::string didYouMean(const std::string &word, const std::vector<std::string> &known);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_NEAREST_H
