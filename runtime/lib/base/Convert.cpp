// Element conversions between the format's dtypes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Convert.h"

#include <limits>
#include <type_traits>

using namespace weft::runtime;

namespace {

template <typename T> struct IsFloat : std::is_floating_point<T> {};
template <> struct IsFloat<BFloat16> : std::true_type {};
template <> struct IsFloat<Float16> : std::true_type {};

/// A whole number as a double that rounds to narrower types as the number itself does. Beyond 2^53
/// a double does not hold all of them: they are rounded to odd, to a multiple of 2^11.
template <typename From> double roundable(From value) {
  constexpr From cut = From(1) << (sizeof(From) == 8 ? 11 : 0);
  constexpr double held = 0x1p53;
  if (sizeof(From) < 8 || std::fabs(double(value)) < held)
    return double(value);
  From rest = From(value & (cut - 1)), multiple = From(value - rest);
  return double(rest == 0 || (multiple & cut) != 0 ? multiple : From(multiple + cut));
}

template <typename To, typename From> To convertOne(From value) {
  if constexpr (std::is_same_v<To, From> && std::is_same_v<To, Boolean>) {
    return Boolean{uint8_t(value.value != 0)};
  } else if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return To(value.value != 0 ? 1 : 0);
  } else if constexpr (std::is_same_v<To, Boolean>) {
    if constexpr (IsFloat<From>::value)
      return Boolean{uint8_t(double(value) != 0)};
    else
      return Boolean{uint8_t(value != 0)};
  } else if constexpr (IsFloat<From>::value && !IsFloat<To>::value) {
    double real = std::is_same_v<From, double> ? double(value) : float(value);
    if (real != real)
      return 0;
    // The largest integer may round up to a power of two as a double.
    if (real >= double(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    if (real <= double(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return To(real);
  } else if constexpr (std::is_same_v<To, double>) {
    if constexpr (IsFloat<From>::value)
      return float(value);
    else
      return double(value);
  } else if constexpr (std::is_same_v<From, double> && IsFloat<To>::value) {
    return roundedOnce<To>(value);
  } else if constexpr (IsFloat<To>::value && !IsFloat<From>::value && sizeof(To) == 2) {
    return roundedOnce<To>(roundable(value));
  } else if constexpr (IsFloat<To>::value) {
    return To(float(value));
  } else {
    return To(value);
  }
}

} // namespace

void weft::runtime::convertElements(DType from, const void *source, DType to, void *destination,
                                    int64_t count) {
  if (from == to && from != DType::Bool) {
    std::memcpy(destination, source, size_t(count) * dtypeBytes(from));
    return;
  }
  withType(from, [&](auto fromValue) {
    using From = decltype(fromValue);
    withType(to, [&](auto toValue) {
      using To = decltype(toValue);
      To *out = static_cast<To *>(destination);
      for (int64_t i = 0; i < count; ++i)
        out[i] = convertOne<To>(elementAt<From>(source, i));
    });
  });
}

namespace {
template <typename T>
void gather(const void *source, int64_t stride, void *destination, int64_t count) {
  // Sources in files need not be aligned.
  const char *in = static_cast<const char *>(source);
  T *out = static_cast<T *>(destination);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(&out[i], in + i * stride * int64_t(sizeof(T)), sizeof(T));
}
} // namespace

void weft::runtime::gatherElements(const void *source, int64_t stride, void *destination,
                                   int64_t count, unsigned bytes) {
  if (stride == 1) {
    std::memcpy(destination, source, size_t(count) * bytes);
    return;
  }
  switch (bytes) {
  case 1:
    return gather<uint8_t>(source, stride, destination, count);
  case 2:
    return gather<uint16_t>(source, stride, destination, count);
  case 4:
    return gather<uint32_t>(source, stride, destination, count);
  default:
    return gather<uint64_t>(source, stride, destination, count);
  }
}
