// Near misses, ranked as in the command line of every tool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Nearest.h"

#include "weft/runtime/Nearest.h"
#include "llvm/ADT/Twine.h"

std::string weft::didYouMean(llvm::StringRef word, llvm::ArrayRef<std::string> known) {
  return runtime::didYouMean(word.str(), known.vec());
}

std::string weft::listNames(llvm::ArrayRef<std::string> names, size_t most) {
  std::string text;
  for (const std::string &name : names.take_front(most))
    text += (text.empty() ? "'" : ", '") + name + "'";
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text.empty() ? "none" : text;
}
