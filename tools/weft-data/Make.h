// Makes arrays and token files of nothing or of texts, and shows arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_DATA_MAKE_H
#define WEFT_TOOLS_WEFT_DATA_MAKE_H

#include "weft/runtime/Npy.h"

#include <optional>

namespace weft::data {

struct NpyOptions {
  std::string output;
  std::vector<int64_t> shape;
  std::optional<runtime::DType> dtype; // none = i64 for ids, else f32
  std::string fill = "zeros";
};

/// Writes an array; the same options give the same bytes everywhere.
runtime::Status makeNpy(const NpyOptions &options);

struct TokenOptions {
  std::string input, output; // input "-" is stdin
  std::string tokenizer = "byte";
};

/// Writes the tokens of a text one behind the other, as little-endian u16.
runtime::Status makeTokens(const TokenOptions &options);

/// Prints shape, dtype, first values, least, largest and mean.
runtime::Status showNpy(const std::string &path);

} // namespace weft::data

#endif // WEFT_TOOLS_WEFT_DATA_MAKE_H
