// The words of the program format: indices, lists, element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_TYPES_H
#define WEFT_RUNTIME_TYPES_H

#include <cstdint>

namespace weft::runtime {

constexpr uint32_t kNone = 0xffffffffu;
constexpr unsigned kMaxTensorRank = 12;
constexpr unsigned kMaxThreadsPerRank = 4096;

/// Index into a table; the type says which one the member's comment names.
using Id = uint32_t;
/// Index into `Strings`. Never kNone: absent text is the empty string.
using StringId = uint32_t;

/// `count` consecutive records of some section, from `begin`.
struct Range {
  uint32_t begin;
  uint32_t count;
};

enum class DType : uint8_t { F64, F32, BF16, F16, I8, I16, I32, I64, U8, U16, U32, U64, Bool };
constexpr unsigned kNumDTypes = 13;
unsigned dtypeBytes(DType type);   // a Bool is one byte, 0 or 1
const char *dtypeName(DType type); // "f32", "bf16", "bool"

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TYPES_H
