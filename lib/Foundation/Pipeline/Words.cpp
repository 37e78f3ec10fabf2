// Reads texts of lines and words.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Words.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace weft::pipeline;

bool weft::pipeline::parseWhole(const std::string &text, int64_t least, int64_t most,
                                int64_t &result) {
  if (text.empty() || text.size() > 18)
    return false;
  result = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    result = result * 10 + (c - '0');
  }
  return result >= least && result <= most;
}

bool Words::nextLine() {
  while (true) {
    if (inLine || line > 0) {
      at = text.find('\n', at);
      if (at == std::string::npos)
        return false;
      ++at;
    }
    ++line;
    index = 0;
    inLine = true;
    if (next())
      return true;
  }
}

bool Words::next() {
  current.clear();
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
    ++at;
  ++index;
  if (at >= text.size() || text[at] == '\n' || text[at] == '#')
    return false;
  size_t begin = at;
  while (at < text.size() && text[at] != ' ' && text[at] != '\t' && text[at] != '\r' &&
         text[at] != '\n' && text[at] != '#')
    ++at;
  current = text.substr(begin, at - begin);
  return true;
}

bool Words::fail(const std::string &wants) {
  std::string shown;
  for (char c : current.substr(0, 40))
    shown += c >= ' ' && c < 127 ? c : '?';
  error = "line " + std::to_string(line) + ", word " + std::to_string(index) + ": " +
          (current.empty() ? "the line ends where there " : "'" + shown + "' stands where there ") +
          wants;
  return false;
}

bool Words::header(const std::string &what) {
  const char *version = "is 1, the version of the text";
  std::string first = "is 'weft " + what + " 1', the first line";
  if (!nextLine() || !is("weft") || !next() || !is(what.c_str()))
    return fail(first);
  return (next() && is("1")) ? end() : fail(version);
}

bool Words::expect(const char *what) {
  return (next() && is(what)) || fail(std::string("is '") + what + "'");
}

bool Words::number(int64_t least, int64_t most, int64_t &result) {
  return (next() && parseWhole(word(), least, most, result)) ||
         fail("is a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

bool Words::assign(const std::vector<std::pair<std::string, double *>> &fields) {
  std::string known;
  for (const auto &[name, target] : fields) {
    known += (known.empty() ? "" : ", ") + name + "=X";
    if (current.compare(0, name.size() + 1, name + "=") != 0)
      continue;
    const char *begin = current.c_str() + name.size() + 1;
    char *end = nullptr;
    double value = std::strtod(begin, &end);
    bool isDecimal = std::strspn(begin, "+-.0123456789eE") == std::strlen(begin);
    if (!isDecimal || end == begin || *end != 0 || !(value >= 0) || value > 1e15)
      return fail("is " + name + "= and a number from 0 to 1e15");
    *target = value;
    return true;
  }
  return fail("is " + std::string(fields.size() > 1 ? "one of " : "") + known);
}

bool Words::end() { return !next() || fail("is nothing"); }

std::string weft::pipeline::numberText(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}
