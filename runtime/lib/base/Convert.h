// Element conversions between the format's dtypes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_BASE_CONVERT_H
#define WEFT_RUNTIME_LIB_BASE_CONVERT_H

#include "weft/runtime/Program.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace weft::runtime {

/// bfloat16: the upper half of a float.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  [[gnu::always_inline]] BFloat16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    if ((word & 0x7fffffff) > 0x7f800000)
      bits = uint16_t(word >> 16) | 0x40; // a NaN stays one
    else
      bits = uint16_t((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  [[gnu::always_inline]] operator float() const {
    uint32_t word = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
};

/// IEEE half precision.
struct Float16 {
  uint16_t bits;
  Float16() = default;
  [[gnu::always_inline]] Float16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    uint32_t sign = (word >> 16) & 0x8000, magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) {
      bits = uint16_t(sign | 0x7e00);
    } else if (magnitude >= 0x47800000) { // 2^16 and above, infinity included
      bits = uint16_t(sign | 0x7c00);
    } else if (magnitude >= 0x38800000) { // a normal half
      uint32_t rebased = magnitude - 0x38000000;
      bits = uint16_t(sign | ((rebased + 0xfff + ((rebased >> 13) & 1)) >> 13));
    } else {
      // A subnormal half counts units of 2^-24; adding 0.5 makes the float
      // adder round to them (ties to even) in its lowest mantissa bits.
      float positive;
      std::memcpy(&positive, &magnitude, 4);
      float shifted = positive + 0.5f;
      uint32_t rounded;
      std::memcpy(&rounded, &shifted, 4);
      bits = uint16_t(sign | (rounded - 0x3f000000));
    }
  }
  [[gnu::always_inline]] operator float() const {
    uint32_t sign = uint32_t(bits & 0x8000) << 16;
    uint32_t magnitude = bits & 0x7fff;
    uint32_t word;
    float value;
    if (magnitude >= 0x7c00) {
      word = sign | 0x7f800000 | ((magnitude & 0x3ff) << 13);
    } else if (magnitude >= 0x400) {
      word = sign | ((magnitude << 13) + 0x38000000);
    } else {
      value = float(magnitude) * 0x1p-24f;
      return sign ? -value : value;
    }
    std::memcpy(&value, &word, 4);
    return value;
  }
};

/// `value` rounded once, to the nearest, ties to even, where To is a float.
/// To half precision by way of a float rounded to odd (toward zero, the last bit
/// set if anything was lost), which makes the second rounding the only one, as
/// the compiler's casts do.
template <typename To> To roundedOnce(double value) {
  if constexpr (!std::is_same_v<To, BFloat16> && !std::is_same_v<To, Float16>)
    return To(value);
  float nearest = float(value);
  if (double(nearest) == value || value != value || std::isinf(nearest))
    return To(nearest);
  uint32_t word;
  std::memcpy(&word, &nearest, 4);
  if (std::fabs(double(nearest)) > std::fabs(value))
    --word;
  word |= 1;
  std::memcpy(&nearest, &word, 4);
  return To(nearest);
}

/// A Bool element; any non-zero byte of a file counts as true.
struct Boolean {
  uint8_t value;
};

inline bool isFloat(DType type) {
  return type == DType::F64 || type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

inline bool isSigned(DType type) {
  return type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64;
}

/// Calls `visit(T())` with the C++ type of `type`.
template <typename Visit> auto withType(DType type, Visit visit) {
  switch (type) {
  case DType::F64:
    return visit(double());
  case DType::F32:
    return visit(float());
  case DType::BF16:
    return visit(BFloat16());
  case DType::F16:
    return visit(Float16());
  case DType::I8:
    return visit(int8_t());
  case DType::I16:
    return visit(int16_t());
  case DType::I32:
    return visit(int32_t());
  case DType::I64:
    return visit(int64_t());
  case DType::U8:
    return visit(uint8_t());
  case DType::U16:
    return visit(uint16_t());
  case DType::U32:
    return visit(uint32_t());
  case DType::U64:
    return visit(uint64_t());
  case DType::Bool:
    break;
  }
  return visit(Boolean());
}

/// Element `i` of values that need not be aligned, as those of files.
template <typename T> [[gnu::always_inline]] inline T elementAt(const void *values, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char *>(values) + i * int64_t(sizeof(T)), sizeof(T));
  return value;
}

/// Converts `count` consecutive elements, of which the source need not be aligned. To a smaller
/// float: nearest even. Float to integer: toward zero, saturating, NaN to 0. To Bool: value != 0.
void convertElements(DType from, const void *source, DType to, void *destination, int64_t count);

/// Calls `visit(number, value)` for all elements as doubles, without memory for all of these.
template <typename Visit>
void forEachDouble(DType type, const void *data, int64_t count, Visit visit) {
  constexpr int64_t kBlock = 1024;
  double block[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int64_t here = count - begin < kBlock ? count - begin : kBlock;
    convertElements(type, static_cast<const char *>(data) + begin * int64_t(dtypeBytes(type)),
                    DType::F64, block, here);
    for (int64_t i = 0; i < here; ++i)
      visit(begin + i, block[i]);
  }
}

/// Copies `count` elements of `bytes` each from a strided source (stride in
/// elements) to consecutive ones.
void gatherElements(const void *source, int64_t stride, void *destination, int64_t count,
                    unsigned bytes);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_BASE_CONVERT_H
