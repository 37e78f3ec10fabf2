// Writes the header of .safetensors files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/Safetensors.h"

#include <cstdio>
#include <cstring>

using namespace weft::runtime;

static constexpr const char *kNames[kNumDTypes] = {"F64", "F32", "BF16", "F16", "I8",  "I16", "I32",
                                                   "I64", "U8",  "U16",  "U32", "U64", "BOOL"};

const char *weft::runtime::safetensorsName(DType type) { return kNames[unsigned(type)]; }

bool weft::runtime::safetensorsType(std::string_view name, DType &type) {
  for (unsigned i = 0; i < kNumDTypes; ++i)
    if (name == kNames[i]) {
      type = DType(i);
      return true;
    }
  return false;
}

std::string weft::runtime::quoteJson(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", unsigned(c));
      result += code;
    } else {
      result += c;
    }
  }
  return result + '"';
}

bool weft::runtime::isUtf8(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  for (size_t i = 0; i < text.size();) {
    unsigned first = byte(i);
    if (first < 0x80) {
      ++i;
      continue;
    }
    unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4)
      return false;
    // The second byte excludes overlong forms, surrogates and what is too big.
    unsigned second = byte(i + 1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      return false;
    for (unsigned k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xc0) != 0x80)
        return false;
    i += more + 1;
  }
  return true;
}

std::string
weft::runtime::safetensorsHeader(const std::vector<SafetensorsEntry> &entries,
                                 const std::vector<std::pair<std::string, std::string>> &meta) {
  std::string text = "{\"__metadata__\":{";
  for (const auto &[key, value] : meta)
    text += (text.back() == '{' ? "" : ",") + quoteJson(key) + ":" + quoteJson(value);
  text += "}";
  for (const SafetensorsEntry &entry : entries) {
    text += "," + quoteJson(entry.name) + ":{\"dtype\":\"" + safetensorsName(entry.dtype) +
            "\",\"shape\":[";
    for (size_t i = 0; i < entry.shape.size(); ++i)
      text += (i ? "," : "") + std::to_string(entry.shape[i]);
    text += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) +
            "]}";
  }
  text += "}";
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  uint64_t length = text.size();
  std::string result(8, '\0');
  std::memcpy(result.data(), &length, 8);
  return result + text;
}
