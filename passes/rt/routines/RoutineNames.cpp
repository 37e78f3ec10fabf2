// Names of nodes in routines that several parts of a model share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/routines/RoutineNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace {

bool isWord(char c) { return isAlnum(c) || c == '_'; }

/// How many characters all names have in common at their begin, and, behind that, at their end.
std::pair<size_t, size_t> commonEnds(ArrayRef<StringRef> names) {
  size_t begin = names[0].size(), end = names[0].size();
  for (StringRef name : names) {
    begin = std::min(begin, name.size());
    while (!names[0].starts_with(name.take_front(begin)))
      --begin;
  }
  for (StringRef name : names) {
    end = std::min(end, name.size() - begin);
    while (!names[0].ends_with(name.take_back(end)))
      --end;
  }
  return {begin, std::min(end, names[0].size() - begin)};
}

} // namespace

std::vector<std::string> weft::rt::findLabels(ArrayRef<StringRef> names) {
  if (all_equal(names))
    return {};
  auto [begin, end] = commonEnds(names);
  StringRef first = names[0];
  bool isNumber = all_of(names, [begin = begin, end = end](StringRef name) {
    return all_of(name.drop_front(begin).drop_back(end), isDigit);
  });
  auto belongs = [&](char c) { return isNumber ? isDigit(c) : isWord(c); };
  while (begin > 0 && belongs(first[begin - 1]))
    --begin;
  while (end > 0 && belongs(first[first.size() - end]))
    --end;
  if (begin > 0 && first[begin - 1] == '.') {
    --begin;
    while (begin > 0 && isWord(first[begin - 1]))
      --begin;
  }
  std::vector<std::string> labels;
  for (StringRef name : names)
    labels.push_back(name.drop_front(begin).drop_back(end).str());
  return labels;
}

std::string weft::rt::commonName(ArrayRef<StringRef> names, ArrayRef<std::string> labels) {
  StringRef first = names[0];
  if (all_equal(names))
    return first.str();
  if (!labels.empty() && !labels[0].empty())
    for (size_t at = first.find(labels[0]); at != StringRef::npos;
         at = first.find(labels[0], at + 1)) {
      StringRef begin = first.take_front(at), end = first.drop_front(at + labels[0].size());
      if (all_of(zip(names, labels), [&](auto pair) {
            auto &[name, label] = pair;
            return name == (begin + label + end).str();
          }))
        return (begin + "{}" + end).str();
    }
  auto [begin, end] = commonEnds(names);
  return (first.take_front(begin) + "*" + first.take_back(end)).str();
}
