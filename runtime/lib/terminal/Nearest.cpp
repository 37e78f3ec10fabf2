// Edit distance between names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Nearest.h"

#include <algorithm>
#include <cctype>

using namespace weft::runtime;

namespace {

std::string plain(const std::string &word) {
  std::string result;
  for (char c : word)
    result += char(std::tolower(static_cast<unsigned char>(c)));
  return result.substr(std::min(result.find_first_not_of('-'), result.size()));
}

/// Letters added, left out, changed, or swapped with their neighbour.
size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

/// Long enough that a part of it says which one is meant.
constexpr size_t kTellingPart = 3;
/// Names are not compared letter by letter beyond this.
constexpr size_t kLongestName = 256;

} // namespace

std::vector<std::string> weft::runtime::nearest(const std::string &word,
                                                const std::vector<std::string> &known,
                                                size_t most) {
  std::string wanted = plain(word);
  std::vector<std::pair<size_t, size_t>> ranked; // edits, index in `known`
  for (size_t i = 0; i < known.size(); ++i) {
    std::string candidate = plain(known[i]);
    size_t longer = std::max(wanted.size(), candidate.size());
    size_t shorter = std::min(wanted.size(), candidate.size());
    if (longer > kLongestName || shorter == 0)
      continue;
    size_t edits = distance(wanted, candidate);
    bool isPart = shorter >= kTellingPart && (candidate.find(wanted) != std::string::npos ||
                                              wanted.find(candidate) != std::string::npos);
    if (edits <= std::max<size_t>(1, longer / 3) || isPart)
      ranked.emplace_back(edits, i);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> result;
  for (size_t i = 0; i < ranked.size() && i < most; ++i)
    result.push_back(known[ranked[i].second]);
  return result;
}

std::string weft::runtime::didYouMean(const std::string &word,
                                      const std::vector<std::string> &known) {
  std::string text;
  std::vector<std::string> found = nearest(word, known);
  for (size_t i = 0; i < found.size(); ++i)
    text += (i == 0 ? "; did you mean '" : i + 1 < found.size() ? "', '" : "' or '") + found[i];
  return text.empty() ? text : text + "'?";
}
