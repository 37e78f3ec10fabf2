// Seeded edits of a manifest's text, from slight to hostile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ManifestEdits.h"

#include <cctype>
#include <random>
#include <vector>

using Range = std::pair<size_t, size_t>; // begin, length

namespace {

/// Numbers outside of strings.
std::vector<Range> numbersOf(const std::string &text) {
  std::vector<Range> result;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && std::isdigit(static_cast<unsigned char>(text[i]))) {
      size_t end = i;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
        ++end;
      result.push_back({i, end - i});
      i = end - 1;
    }
  }
  return result;
}

/// Strings with their quotes: keys and values.
std::vector<Range> stringsOf(const std::string &text) {
  std::vector<Range> result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '"')
      continue;
    size_t end = i + 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    result.push_back({i, end + 1 - i});
    i = end;
  }
  return result;
}

/// Objects and lists that close.
std::vector<Range> bracketsOf(const std::string &text) {
  std::vector<Range> result;
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[')
      open.push_back(i);
    if ((text[i] == '}' || text[i] == ']') && !open.empty()) {
      result.push_back({open.back(), i + 1 - open.back()});
      open.pop_back();
    }
  }
  return result;
}

} // namespace

std::string weft::runtime::test::editManifest(const std::string &text, uint64_t seed,
                                              std::string &what) {
  std::mt19937_64 random(seed);
  auto pick = [&](const std::vector<Range> &ranges) { return ranges[random() % ranges.size()]; };
  static const std::vector<std::string> values{"0",
                                               "1",
                                               "2",
                                               "7",
                                               "24",
                                               "2147483648",
                                               "4294967296",
                                               "9223372036854775807",
                                               "18446744073709551615",
                                               "18446744073709551616",
                                               "-1",
                                               "1e308",
                                               "0.5",
                                               "null",
                                               "true",
                                               "\"x\"",
                                               "[]",
                                               "{}",
                                               "[0,0,0,0]"};
  std::string result = text;
  int edits = 1 + int(random() % 3);
  what = "edit " + std::to_string(seed) + ":";
  for (int i = 0; i < edits; ++i) {
    unsigned kind = unsigned(random() % 20);
    if (kind < 9) {
      auto [at, length] = pick(numbersOf(result));
      const std::string &value = values[random() % values.size()];
      result.replace(at, length, value);
      what += " number to " + value;
    } else if (kind < 11) {
      auto [at, length] = pick(stringsOf(result));
      const std::string &value = values[random() % values.size()];
      result.replace(at, length, value);
      what += " string to " + value;
    } else if (kind < 13) {
      Range from = pick(stringsOf(result)), to = pick(stringsOf(result));
      result.replace(to.first, to.second, result.substr(from.first, from.second));
      what += " string to another";
    } else if (kind < 15) {
      Range from = pick(bracketsOf(result)), to = pick(bracketsOf(result));
      result.replace(to.first, to.second, result.substr(from.first, from.second));
      what += " part to another";
    } else if (kind < 16) {
      auto [at, length] = pick(bracketsOf(result));
      std::string copy = result.substr(at, length);
      result.insert(at, copy + ",");
      what += " part twice";
    } else if (kind < 17) {
      auto [at, length] = pick(bracketsOf(result));
      result.erase(at, length);
      what += " part removed";
    } else if (kind < 18) {
      size_t depth = size_t(1) << random() % 20;
      auto [at, length] = pick(numbersOf(result));
      result.replace(at, length, std::string(depth, '[') + "0" + std::string(depth, ']'));
      what += " nested " + std::to_string(depth) + " deep";
    } else if (kind < 19) {
      size_t count = size_t(1) << random() % 18;
      auto [at, length] = pick(numbersOf(result));
      std::string list = "[1";
      for (size_t k = 1; k < count; ++k)
        list += ",1";
      result.replace(at, length, list + "]");
      what += " list of " + std::to_string(count);
    } else {
      result.resize(random() % result.size());
      what += " cut off";
    }
    if (numbersOf(result).empty() || stringsOf(result).empty() || bracketsOf(result).empty())
      break;
  }
  return result;
}
