// Vectors of the instruction set that a kernel file is built for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that include this are built once per instruction set, with WEFT_ISA
// naming a namespace and WEFT_VECTOR_BYTES, WEFT_TILE_ROWS its shape. All of it
// has internal linkage: a shared inline function could be kept in its AVX-512
// form and crash a smaller processor.
#ifndef WEFT_RUNTIME_LIB_KERNELS_VECTOR_H
#define WEFT_RUNTIME_LIB_KERNELS_VECTOR_H

#include "base/Convert.h"

#include <cmath>
#include <cstring>

namespace weft::runtime::WEFT_ISA {
namespace {

template <typename T> struct VectorOf;
template <> struct VectorOf<float> {
  typedef float type __attribute__((vector_size(WEFT_VECTOR_BYTES)));
  typedef int32_t mask __attribute__((vector_size(WEFT_VECTOR_BYTES)));
};
template <> struct VectorOf<double> {
  typedef double type __attribute__((vector_size(WEFT_VECTOR_BYTES)));
  typedef int64_t mask __attribute__((vector_size(WEFT_VECTOR_BYTES)));
};
template <> struct VectorOf<uint32_t> {
  typedef uint32_t type __attribute__((vector_size(WEFT_VECTOR_BYTES)));
};
template <> struct VectorOf<uint64_t> {
  typedef uint64_t type __attribute__((vector_size(WEFT_VECTOR_BYTES)));
};
template <typename T> using Vec = typename VectorOf<T>::type;
template <typename T> constexpr int kLanes = WEFT_VECTOR_BYTES / sizeof(T);

template <typename T> inline Vec<T> load(const T *from) {
  Vec<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <typename T> inline void store(T *to, Vec<T> v) { std::memcpy(to, &v, sizeof v); }
template <typename T> inline Vec<T> splat(T value) { return Vec<T>{} + value; }
/// a * b + c as the vectors do it: fused where the instruction set fuses.
template <typename T> inline T fusedAdd(T a, T b, T c) {
#ifdef __FMA__
  if constexpr (std::is_floating_point_v<T>)
    return std::fma(a, b, c);
#endif
  return a * b + c;
}
/// NaN if either is.
template <typename T> inline Vec<T> larger(Vec<T> a, Vec<T> b) {
  return a > b ? a : (a <= b ? b : a + b);
}
template <typename T> inline T sumOf(Vec<T> v) {
  T sum = v[0];
  for (int i = 1; i < kLanes<T>; ++i)
    sum += v[i];
  return sum;
}
template <typename T> inline T largestOf(Vec<T> v) {
  T most = v[0];
  for (int i = 1; i < kLanes<T>; ++i)
    most = v[i] > most || std::isnan(v[i]) ? v[i] : most;
  return most;
}

/// e^x; 0 below -87.3, where float results become subnormal.
inline Vec<float> exponential(Vec<float> x) {
  using V = Vec<float>;
  using M = VectorOf<float>::mask;
  M vanishes = x < splat(-87.3f);
  V clamped = x > splat(88.7f) ? splat(88.7f) : x;
  clamped = vanishes ? splat(0.0f) : clamped;
  // Adding 1.5 * 2^23 rounds to an integer in the lowest mantissa bits.
  V shifted = clamped * 1.44269504f + 12582912.0f;
  V whole = shifted - 12582912.0f;
  // ln 2 in two parts, the first exact in products with small integers.
  V f = clamped - whole * 0.693145752f;
  f = f - whole * 1.42860677e-6f;
  // (e^f - 1 - f) / f^2 on |f| <= ln 2 / 2, Chebyshev fit, error 1e-8.
  V p = f * 0.0013933643f + 0.0083631752f;
  p = p * f + 0.04166646674f;
  p = p * f + 0.16666576266f;
  p = p * f + 0.5f;
  V value = p * f * f + f + 1.0f;
  M bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  // The scale 2^n in two factors, as 2^128 is no float.
  M n = bits - 0x4b400000;
  M half = n >> 1;
  M first = (half + 127) << 23, second = (n - half + 127) << 23;
  V a, b;
  std::memcpy(&a, &first, sizeof a);
  std::memcpy(&b, &second, sizeof b);
  value = value * a * b;
  value = x > splat(88.7228f) ? splat(HUGE_VALF) : value;
  value = vanishes ? splat(0.0f) : value;
  return x != x ? x : value;
}
inline Vec<double> exponential(Vec<double> x) {
  for (int i = 0; i < kLanes<double>; ++i)
    x[i] = std::exp(x[i]);
  return x;
}

inline Vec<float> hyperbolicTangent(Vec<float> x) {
  // Above 10 the float result is 1; below 0.05 the quotient would cancel.
  Vec<float> bounded = x > splat(10.0f) ? splat(10.0f) : x;
  bounded = bounded < splat(-10.0f) ? splat(-10.0f) : bounded;
  Vec<float> e = exponential(bounded + bounded);
  Vec<float> value = (e - 1.0f) / (e + 1.0f);
  Vec<float> square = x * x;
  Vec<float> series = x - x * square * (0.333333333f - square * 0.133333333f);
  return square < splat(0.0025f) ? series : value;
}
inline Vec<double> hyperbolicTangent(Vec<double> x) {
  for (int i = 0; i < kLanes<double>; ++i)
    x[i] = std::tanh(x[i]);
  return x;
}

//===----------------------------------------------------------------------===//
// The register tile
//===----------------------------------------------------------------------===//

constexpr int64_t kTileRows = WEFT_TILE_ROWS;
template <typename T> constexpr int64_t kTileColumns = 2 * kLanes<T>;

/// tile[i][j] += sum over p of a[p][i] * b[p][j], or = if `first`; `a` is
/// packed in rows of kTileRows, `b` in rows of kTileColumns. A long sum goes on
/// where an earlier call left it, so cutting k changes no bit.
template <typename T>
inline void multiplyTile(int64_t k, const T *a, const T *b, T *tile, bool first) {
  constexpr int64_t width = kTileColumns<T>;
  Vec<T> sums[kTileRows][2] = {};
  if (!first) {
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      sums[i][0] = load(tile + i * width);
      sums[i][1] = load(tile + i * width + kLanes<T>);
    }
  }
  for (int64_t p = 0; p < k; ++p) {
    Vec<T> b0 = load(b), b1 = load(b + kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      sums[i][0] += b0 * a[i];
      sums[i][1] += b1 * a[i];
    }
    a += kTileRows;
    b += width;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) {
    store<T>(tile + i * width, sums[i][0]);
    store<T>(tile + i * width + kLanes<T>, sums[i][1]);
  }
}

/// Calls `visit(From())` for the types that pack into T. Integers do into words without a sign,
/// whose sums and products have the bits of those with one.
template <typename T, typename Visit> inline void withElement(DType dtype, Visit visit) {
  if constexpr (std::is_same_v<T, double>) {
    visit(double());
  } else if constexpr (std::is_integral_v<T>) {
    withType(dtype, [&](auto from) {
      if constexpr (std::is_integral_v<decltype(from)>)
        visit(std::conditional_t<sizeof(from) == sizeof(T), T, decltype(from)>());
    });
  } else {
    if (dtype == DType::BF16)
      visit(BFloat16());
    else if (dtype == DType::F16)
      visit(Float16());
    else
      visit(float());
  }
}

typedef float Quad __attribute__((vector_size(16)));

/// Loads 4 rows of 4 floats as their 4 columns, with instructions that every
/// processor has.
inline void loadTransposed(const float *from, int64_t across, Quad (&to)[4]) {
  Quad r0, r1, r2, r3;
  std::memcpy(&r0, from, 16);
  std::memcpy(&r1, from + across, 16);
  std::memcpy(&r2, from + 2 * across, 16);
  std::memcpy(&r3, from + 3 * across, 16);
  Quad a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  Quad b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  Quad c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  Quad d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  to[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  to[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  to[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  to[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

inline void transposeQuad(const float *from, int64_t across, float *to, int64_t width) {
  Quad columns[4];
  loadTransposed(from, across, columns);
  for (int i = 0; i < 4; ++i)
    std::memcpy(to + i * width, &columns[i], 16);
}

/// Packs `count` <= `width` vectors of `depth` elements side by side:
/// to[p * width + i] = from[i * across + p * along], zeros beyond `count`.
template <typename T, typename From>
inline void packPanel(const From *from, int64_t across, int64_t along, int64_t count, int64_t depth,
                      int64_t width, T *to) {
  if (count < width)
    std::memset(to, 0, size_t(depth * width) * sizeof(T));
  if (across == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      if (std::is_same_v<T, From> && count == width)
        std::memcpy(to + p * width, from + p * along, size_t(width) * sizeof(T));
      else
        for (int64_t i = 0; i < count; ++i)
          to[p * width + i] = T(from[p * along + i]);
    }
    return;
  }
  // In blocks of depth, so that the lines written stay in the cache.
  constexpr int64_t kBlock = 32;
  for (int64_t q = 0; q < depth; q += kBlock) {
    int64_t end = depth - q < kBlock ? depth : q + kBlock;
    int64_t i = 0;
    if constexpr (std::is_same_v<From, float>) {
      if (along == 1 && end - q == kBlock)
        for (; i + 4 <= count; i += 4)
          for (int64_t p = q; p < end; p += 4)
            transposeQuad(from + i * across + p, across, to + p * width + i, width);
    }
    for (; i < count; ++i)
      for (int64_t p = q; p < end; ++p)
        to[p * width + i] = T(from[i * across + p * along]);
  }
}

template <typename T> inline T readAs(const MatrixRef &m, int64_t i, int64_t j) {
  int64_t at = i * m.row + j * m.column;
  if constexpr (std::is_same_v<T, double>)
    return reinterpret_cast<const double *>(m.data)[at];
  else if (m.dtype == DType::F32)
    return reinterpret_cast<const float *>(m.data)[at];
  else if (m.dtype == DType::BF16)
    return float(reinterpret_cast<const BFloat16 *>(m.data)[at]);
  else
    return float(reinterpret_cast<const Float16 *>(m.data)[at]);
}
template <typename T> inline void writeAs(const MatrixRef &m, int64_t i, int64_t j, T value) {
  int64_t at = i * m.row + j * m.column;
  char *data = const_cast<char *>(m.data);
  if constexpr (!std::is_same_v<T, float>)
    reinterpret_cast<T *>(data)[at] = value;
  else if (m.dtype == DType::F32)
    reinterpret_cast<float *>(data)[at] = value;
  else if (m.dtype == DType::BF16)
    reinterpret_cast<BFloat16 *>(data)[at] = BFloat16(value);
  else
    reinterpret_cast<Float16 *>(data)[at] = Float16(value);
}

constexpr int64_t kAlign = 64;
inline uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

} // namespace
} // namespace weft::runtime::WEFT_ISA

#endif // WEFT_RUNTIME_LIB_KERNELS_VECTOR_H
