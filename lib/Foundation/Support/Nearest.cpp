// Near misses, ranked as in the command line of every tool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Nearest.h"

#include "weft/runtime/Nearest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

static constexpr StringLiteral kSeparators = "./";

/// Calls `found` with each stretch of a name that has so many separators and begins where the name
/// does or behind one; `fromSlash`: at a slash.
static void eachStretch(StringRef name, size_t separators, bool fromSlash,
                        function_ref<void(StringRef)> found) {
  for (size_t at = 0; at != StringRef::npos; at = name.find_first_of(kSeparators, at + 1)) {
    StringRef stretch = name.substr(at);
    if (fromSlash && !stretch.starts_with("/"))
      continue;
    if (!fromSlash && stretch.find_first_of(kSeparators) == 0)
      stretch = stretch.drop_front();
    size_t end = stretch.find_first_of(kSeparators), left = separators;
    for (; left > 0 && end != StringRef::npos; --left)
      end = stretch.find_first_of(kSeparators, end + 1);
    if (left == 0)
      found(stretch.take_front(end));
  }
}

std::string weft::didYouMean(StringRef word, ArrayRef<std::string> known) {
  return runtime::didYouMean(word.str(), known.vec());
}

std::string weft::didYouMeanByPattern(StringRef pattern, ArrayRef<std::string> known) {
  // Letters of the expression are near enough to those of the name.
  std::string plain;
  for (char c : pattern)
    if (!StringRef("^$*+?()[]\\|").contains(c))
      plain += c;
  StringRef word = StringRef(plain).trim('.');
  size_t separators = count_if(word, [](char c) { return kSeparators.contains(c); });
  std::vector<std::string> names = known.vec();
  StringSet<> seen;
  seen.insert(known.begin(), known.end());
  for (const std::string &name : known)
    eachStretch(name, separators, word.starts_with("/"), [&](StringRef stretch) {
      if (seen.insert(stretch).second)
        names.push_back(stretch.str());
    });
  return didYouMean(word, names);
}

std::string weft::listNames(ArrayRef<std::string> names, size_t most) {
  std::string text;
  for (const std::string &name : names.take_front(most))
    text += (text.empty() ? "'" : ", '") + name + "'";
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text.empty() ? "none" : text;
}
