// Sizes as people write them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_COST_EXPRESSION_H
#define WEFT_LIB_FOUNDATION_COST_EXPRESSION_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace weft::cost {

using Symbols = std::map<std::string, int64_t>;

/// Integers, symbols, + - * / % and parentheses, as in C. Nothing if that is no expression, a
/// symbol is not known, the value does not fit 64 bits or something is divided by 0; `error` says
/// which.
std::optional<int64_t> evaluate(const std::string &text, const Symbols &symbols,
                                std::string &error);

} // namespace weft::cost

#endif // WEFT_LIB_FOUNDATION_COST_EXPRESSION_H
