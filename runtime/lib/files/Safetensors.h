// Writes the header of .safetensors files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_FILES_SAFETENSORS_H
#define WEFT_RUNTIME_LIB_FILES_SAFETENSORS_H

#include "weft/runtime/Program.h"

#include <string>
#include <vector>

namespace weft::runtime {

struct SafetensorsEntry {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end; // bytes from the start of the data
};

/// The format's name of a dtype ("BF16"), and back.
const char *safetensorsName(DType type);
bool safetensorsType(std::string_view name, DType &type);

/// Length and header, padded to a multiple of 64 bytes; the data follow. The
/// entries must lie in the data in their order, without holes.
std::string safetensorsHeader(const std::vector<SafetensorsEntry> &entries,
                              const std::vector<std::pair<std::string, std::string>> &meta);

/// `text` as a JSON string. Bytes above 127 pass as they are.
std::string quoteJson(std::string_view text);
/// Whether `text` may stand in JSON.
bool isUtf8(std::string_view text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_FILES_SAFETENSORS_H
