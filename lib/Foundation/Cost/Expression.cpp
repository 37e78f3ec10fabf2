// Recursive descent.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Expression.h"

#include <cctype>

using namespace weft::cost;

namespace {

class Expression {
public:
  Expression(const std::string &text, const Symbols &symbols, std::string &error)
      : text(text), symbols(symbols), error(error) {}

  std::optional<int64_t> run() {
    std::optional<int64_t> value = sum(0);
    if (value && peek() != 0)
      return fail(std::string("has '") + peek() + "' where an operator belongs");
    return value;
  }

private:
  std::optional<int64_t> fail(const std::string &what) {
    if (error.empty())
      error = "'" + text + "' " + what;
    return std::nullopt;
  }

  char peek() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
    return at < text.size() ? text[at] : 0;
  }

  std::optional<int64_t> sum(int depth) {
    std::optional<int64_t> value = product(depth);
    while (value && (peek() == '+' || peek() == '-')) {
      bool isSum = text[at++] == '+';
      std::optional<int64_t> other = product(depth);
      int64_t result = 0;
      if (!other)
        return std::nullopt;
      if (isSum ? __builtin_add_overflow(*value, *other, &result)
                : __builtin_sub_overflow(*value, *other, &result))
        return fail("does not fit 64 bits");
      value = result;
    }
    return value;
  }

  std::optional<int64_t> product(int depth) {
    std::optional<int64_t> value = factor(depth);
    while (value && (peek() == '*' || peek() == '/' || peek() == '%')) {
      char op = text[at++];
      std::optional<int64_t> other = factor(depth);
      int64_t result = 0;
      if (!other)
        return std::nullopt;
      if (op != '*' && (*other == 0 || *other == -1))
        return fail("divides by " + std::to_string(*other));
      if (op == '*' ? __builtin_mul_overflow(*value, *other, &result) : false)
        return fail("does not fit 64 bits");
      value = op == '*' ? result : op == '/' ? *value / *other : *value % *other;
    }
    return value;
  }

  std::optional<int64_t> factor(int depth) {
    constexpr int kMostNested = 32;
    if (depth > kMostNested)
      return fail("is nested too deep");
    char next = peek();
    size_t begin = at;
    if (next == '(') {
      ++at;
      std::optional<int64_t> value = sum(depth + 1);
      if (!value)
        return std::nullopt;
      if (peek() != ')')
        return fail("lacks a ')'");
      ++at;
      return value;
    }
    if (std::isdigit(static_cast<unsigned char>(next))) {
      int64_t value = 0;
      for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
        if (__builtin_mul_overflow(value, int64_t(10), &value) ||
            __builtin_add_overflow(value, int64_t(text[at] - '0'), &value))
          return fail("does not fit 64 bits");
      return value;
    }
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])))
      ++at;
    std::string name = text.substr(begin, at - begin);
    auto found = symbols.find(name);
    if (found != symbols.end())
      return found->second;
    std::string all;
    for (const auto &entry : symbols)
      all += (all.empty() ? "" : ", ") + entry.first;
    return fail((name.empty() ? "lacks a number or symbol" : "has no symbol '" + name + "'") +
                "; there are " + all);
  }

  const std::string &text;
  const Symbols &symbols;
  std::string &error;
  size_t at = 0;
};

} // namespace

std::optional<int64_t> weft::cost::evaluate(const std::string &text, const Symbols &symbols,
                                            std::string &error) {
  return Expression(text, symbols, error).run();
}
