// Scanning of the ONNX text syntax.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/TextCursor.h"

#include "python_free_frontend/text/Words.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>

using namespace llvm;

namespace weft::text {
namespace {

bool isWordStart(char c) { return isAlpha(c) || c == '_'; }
bool isWordPart(char c) { return isAlnum(c) || c == '_'; }

} // namespace

bool TextCursor::fail(const Twine &what, size_t where) {
  if (!problem.empty())
    return false;
  if (where == StringRef::npos)
    where = place();
  StringRef before = text.take_front(where);
  size_t line = before.count('\n') + 1;
  size_t lineStart = before.rfind('\n');
  size_t column = where - (lineStart == StringRef::npos ? 0 : lineStart + 1) + 1;
  problem = (fileName + ":" + Twine(line) + ":" + Twine(column) + ": " + what).str();
  return false;
}

char TextCursor::peek() {
  while (at < text.size()) {
    if (isSpace(text[at])) {
      ++at;
    } else if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else {
      return text[at];
    }
  }
  return 0;
}

std::string TextCursor::next() {
  if (atEnd())
    return "the end of the text";
  StringRef word = peekWord();
  if (word.empty())
    word = text.substr(at, 1);
  std::string shown;
  raw_string_ostream os(shown);
  printEscapedString(word.take_front(40), os);
  return "'" + shown + "'";
}

bool TextCursor::take(char c) {
  if (peek() != c || at >= text.size())
    return false;
  ++at;
  return true;
}

bool TextCursor::expect(char c, const Twine &purpose) {
  return take(c) || fail("expected '" + Twine(c) + "' " + purpose + ", found " + next());
}

bool TextCursor::expectArrow() {
  if (peek() == '=' && text.substr(at).starts_with("=>")) {
    at += 2;
    return true;
  }
  return fail("expected '=>' between inputs and outputs, found " + next());
}

StringRef TextCursor::peekWord() {
  if (!isWordStart(peek()))
    return {};
  size_t end = at;
  while (end < text.size() && isWordPart(text[end]))
    ++end;
  return text.slice(at, end);
}

bool TextCursor::word(std::string &result, const Twine &purpose) {
  StringRef found = peekWord();
  if (found.empty())
    return fail("expected " + purpose + ", found " + next());
  result = found.str();
  at += found.size();
  return true;
}

bool TextCursor::name(std::string &result, const Twine &purpose) {
  return peek() == '"' ? quoted(result, purpose) : word(result, purpose);
}

bool TextCursor::quoted(std::string &result, const Twine &purpose) {
  if (peek() != '"')
    return fail("expected " + purpose + " in quotes, found " + next());
  size_t start = at++;
  result.clear();
  while (at < text.size() && text[at] != '"') {
    if (text[at] == '\\' && ++at == text.size())
      break;
    result.push_back(text[at++]);
  }
  if (at >= text.size())
    return fail("this string has no closing quote", start);
  ++at;
  return true;
}

bool TextCursor::number(StringRef &digits, bool &isFloat, const Twine &purpose) {
  size_t start = place(), end = start;
  auto is = [&](auto test) { return end < text.size() && test(text[end]); };
  auto skipDigits = [&] {
    while (is(isDigit))
      ++end;
  };
  isFloat = false;
  if (is([](char c) { return c == '-'; }))
    ++end;
  size_t body = end;
  if (is(isAlpha)) {
    while (is(isWordPart))
      ++end;
    isFloat = true;
    if (!isFloatWord(text.slice(body, end)))
      return fail("expected " + purpose + ", found " + next());
  } else {
    skipDigits();
    if (is([](char c) { return c == '.'; })) {
      isFloat = true;
      ++end;
      skipDigits();
    }
    if (end - body <= size_t(isFloat))
      return fail("expected " + purpose + ", found " + next());
    if (is([](char c) { return c == 'e' || c == 'E'; })) {
      isFloat = true;
      ++end;
      if (is([](char c) { return c == '+' || c == '-'; }))
        ++end;
      skipDigits();
    }
  }
  digits = text.slice(start, end);
  at = end;
  return true;
}

bool TextCursor::integer(int64_t &value, const Twine &purpose) {
  size_t start = place();
  StringRef digits;
  bool isFloat;
  if (!number(digits, isFloat, purpose))
    return false;
  if (isFloat)
    return fail("expected " + purpose + ", found the fraction " + digits, start);
  return !digits.getAsInteger(10, value) ||
         fail(digits + " does not fit in a signed 64-bit integer", start);
}

bool TextCursor::unsignedInteger(uint64_t &value, const Twine &purpose) {
  size_t start = place();
  StringRef digits;
  bool isFloat;
  if (!number(digits, isFloat, purpose))
    return false;
  if (isFloat)
    return fail("expected " + purpose + ", found the fraction " + digits, start);
  return !digits.getAsInteger(10, value) ||
         fail(digits + " does not fit in an unsigned 64-bit integer", start);
}

template <typename T> bool TextCursor::realOf(T &value, const Twine &purpose) {
  size_t start = place();
  StringRef digits;
  bool isFloat;
  if (!number(digits, isFloat, purpose))
    return false;
  auto end = std::from_chars(digits.begin(), digits.end(), value);
  if (end.ec == std::errc::result_out_of_range)
    return fail(digits + " is out of the range of " + Twine(sizeof(T) == 4 ? "float" : "double"),
                start);
  if (end.ec != std::errc() || end.ptr != digits.end())
    return fail("'" + digits + "' is not a number", start);
  // Not every library keeps the sign of "-nan".
  if (std::isnan(value))
    value = std::copysign(value, digits.starts_with("-") ? T(-1) : T(1));
  return true;
}

bool TextCursor::real(float &value, const Twine &purpose) { return realOf(value, purpose); }

bool TextCursor::real(double &value, const Twine &purpose) { return realOf(value, purpose); }

} // namespace weft::text
