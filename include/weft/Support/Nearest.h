// The name that a misspelt one may have meant, for the compiler's messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_NEAREST_H
#define WEFT_SUPPORT_NEAREST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace weft {

/// "; did you mean 'A' or 'B'?" with the names among `known` that resemble
/// `word`, or nothing.
std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<std::string> known);

/// The same of a regular expression that matches none of `known`: its letters are compared with the
/// names, and with as much of them, from one '.' or '/' to another, as it has between such itself.
std::string didYouMeanByPattern(llvm::StringRef pattern, llvm::ArrayRef<std::string> known);

/// "'a', 'b' and 3 more": the first `most` of a list.
std::string listNames(llvm::ArrayRef<std::string> names, size_t most = 8);

} // namespace weft

#endif // WEFT_SUPPORT_NEAREST_H
