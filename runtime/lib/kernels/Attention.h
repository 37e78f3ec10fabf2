// Blocked attention that never holds the whole score matrix.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a block of query rows it walks over blocks of keys and keeps, per row,
// the largest score m, the sum l of exp(score - m) and the weighted values; a
// new largest score rescales both. Included by DenseKernels.cpp only.
#ifndef WEFT_RUNTIME_LIB_KERNELS_ATTENTION_H
#define WEFT_RUNTIME_LIB_KERNELS_ATTENTION_H

#include "Vector.h"

namespace weft::runtime::WEFT_ISA {
namespace {

// A key block is packed once per block of queries, so these are many; both are
// multiples of every tile's extents.
constexpr int64_t kQueryRows = 192;
constexpr int64_t kKeys = 128;

inline uint64_t attentionScratchOf(int64_t depth, int64_t valueDepth, uint64_t bytes) {
  uint64_t width = WEFT_VECTOR_BYTES;                         // at least a tile's columns
  return aligned(kQueryRows * depth * bytes) +                // q
         aligned(kKeys * depth * bytes) +                     // k
         aligned((valueDepth + width) * kKeys * bytes) +      // v
         2 * aligned(kQueryRows * kKeys * bytes) +            // scores, weights
         aligned(kQueryRows * (valueDepth + width) * bytes) + // sums
         2 * aligned(kQueryRows * bytes);                     // m, l
}

template <typename T> struct AttentionBuffers {
  T *q, *k, *v, *scores, *weights, *sums, *largest, *total;
  int64_t sumStride;

  AttentionBuffers(const AttentionProblem &p, char *scratch) {
    auto take = [&](int64_t elements) {
      T *result = reinterpret_cast<T *>(scratch);
      scratch += aligned(uint64_t(elements) * sizeof(T));
      return result;
    };
    constexpr int64_t width = kTileColumns<T>;
    sumStride = (p.valueDepth + width - 1) / width * width;
    q = take(kQueryRows * p.depth);
    k = take(kKeys * p.depth);
    v = take(kKeys * sumStride);
    scores = take(kQueryRows * kKeys);
    weights = take(kQueryRows * kKeys);
    sums = take(kQueryRows * sumStride);
    largest = take(kQueryRows);
    total = take(kQueryRows);
  }
};

/// Turns one row of raw products into scores: scale, softcap, mask, causality.
template <typename T>
inline void scoreRow(const AttentionProblem &p, int64_t row, int64_t firstKey, int64_t keys,
                     T *scores) {
  const Vec<T> scale = splat(T(p.scale));
  for (int64_t j = 0; j < kKeys; j += kLanes<T>) {
    Vec<T> x = load(scores + j) * scale;
    if (p.softcap > 0)
      x = hyperbolicTangent(x / T(p.softcap)) * T(p.softcap);
    store<T>(scores + j, x);
  }
  if (p.mask.data) {
    if (p.mask.dtype == DType::Bool) {
      const char *mask = p.mask.data + row * p.mask.row + firstKey * p.mask.column;
      for (int64_t j = 0; j < keys; ++j)
        scores[j] = mask[j * p.mask.column] ? scores[j] : T(-HUGE_VAL);
    } else if (p.mask.dtype == DType::F32) {
      const float *mask = reinterpret_cast<const float *>(p.mask.data) + row * p.mask.row +
                          firstKey * p.mask.column;
      for (int64_t j = 0; j < keys; ++j)
        scores[j] += T(mask[j * p.mask.column]);
    } else {
      for (int64_t j = 0; j < keys; ++j)
        scores[j] += readAs<T>(p.mask, row, firstKey + j);
    }
  }
  int64_t visible = keys;
  if (p.causal)
    visible = most(0, least(keys, row + p.keys - p.rows + 1 - firstKey));
  for (int64_t j = visible; j < kKeys; ++j)
    scores[j] = T(-HUGE_VAL);
}

template <typename T, typename From>
void attentionBlock(const AttentionProblem &p, int64_t first, int64_t rows,
                    const AttentionBuffers<T> &s) {
  constexpr int64_t width = kTileColumns<T>;
  const From *q = reinterpret_cast<const From *>(p.q.data);
  const From *k = reinterpret_cast<const From *>(p.k.data);
  const From *v = reinterpret_cast<const From *>(p.v.data);
  alignas(64) T tile[kTileRows * width];
  int64_t panels = (rows + kTileRows - 1) / kTileRows;
  for (int64_t i = 0; i < rows; i += kTileRows)
    packPanel(q + (first + i) * p.q.row, p.q.row, p.q.column, least(kTileRows, rows - i), p.depth,
              kTileRows, s.q + i * p.depth);
  std::memset(s.sums, 0, size_t(panels * kTileRows * s.sumStride) * sizeof(T));
  std::memset(s.weights, 0, size_t(panels * kTileRows * kKeys) * sizeof(T));
  for (int64_t i = 0; i < rows; ++i) {
    s.largest[i] = T(-HUGE_VAL);
    s.total[i] = 0;
  }
  int64_t end = p.keys;
  if (p.causal)
    end = most(0, least(end, first + rows + p.keys - p.rows));
  for (int64_t t = 0; t < end; t += kKeys) {
    int64_t keys = least(kKeys, end - t);
    for (int64_t j = 0; j < keys; j += width) {
      packPanel(k + (t + j) * p.k.row, p.k.row, p.k.column, least(width, keys - j), p.depth, width,
                s.k + j * p.depth);
      for (int64_t i = 0; i < panels * kTileRows; i += kTileRows) {
        multiplyTile(p.depth, s.q + i * p.depth, s.k + j * p.depth, tile, true);
        for (int64_t r = 0; r < kTileRows; ++r)
          std::memcpy(s.scores + (i + r) * kKeys + j, tile + r * width, width * sizeof(T));
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      T *row = s.scores + i * kKeys;
      // Columns beyond the keys hold old scores; scoreRow hides them.
      scoreRow(p, first + i, t, keys, row);
      Vec<T> high = load(row);
      for (int64_t j = kLanes<T>; j < kKeys; j += kLanes<T>)
        high = larger<T>(high, load(row + j));
      T before = s.largest[i], now = largestOf<T>(high);
      now = before > now ? before : now; // a NaN stays
      T *panel = s.weights + i / kTileRows * kTileRows * kKeys + i % kTileRows;
      if (now == T(-HUGE_VAL)) { // nothing seen yet
        for (int64_t j = 0; j < keys; ++j)
          panel[j * kTileRows] = 0;
        continue;
      }
      Vec<T> sum = {};
      for (int64_t j = 0; j < kKeys; j += kLanes<T>) {
        Vec<T> weight = exponential(load(row + j) - now);
        sum += weight;
        store<T>(row + j, weight);
      }
      for (int64_t j = 0; j < keys; ++j)
        panel[j * kTileRows] = row[j];
      T keep = before == now ? T(1) : std::exp(before - now);
      s.largest[i] = now;
      s.total[i] = s.total[i] * keep + sumOf<T>(sum);
      if (keep != T(1))
        for (int64_t j = 0; j < s.sumStride; ++j)
          s.sums[i * s.sumStride + j] *= keep;
    }
    for (int64_t j = 0; j < p.valueDepth; j += width) {
      T *panel = s.v + j * kKeys;
      packPanel(v + t * p.v.row + j * p.v.column, p.v.column, p.v.row,
                least(width, p.valueDepth - j), keys, width, panel);
      for (int64_t i = 0; i < panels * kTileRows; i += kTileRows) {
        multiplyTile(keys, s.weights + i * kKeys, panel, tile, true);
        for (int64_t r = 0; r < kTileRows; ++r)
          for (int64_t c = 0; c < width; ++c)
            s.sums[(i + r) * s.sumStride + j + c] += tile[r * width + c];
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    T scale = s.total[i] > 0 ? T(1) / s.total[i] : T(0);
    // NaN scores must show.
    if (s.total[i] != s.total[i])
      scale = s.total[i];
    for (int64_t j = 0; j < p.valueDepth; ++j)
      writeAs(p.out, first + i, j, s.sums[i * s.sumStride + j] * scale);
    if (p.logSums.data)
      writeAs(p.logSums, first + i, 0, s.largest[i] + std::log(s.total[i]));
  }
}

template <typename T, typename From> void attentionTyped(const AttentionProblem &p, char *scratch) {
  AttentionBuffers<T> buffers(p, scratch);
  for (int64_t i = p.firstRow; i < p.lastRow; i += kQueryRows)
    attentionBlock<T, From>(p, i, least(kQueryRows, p.lastRow - i), buffers);
}

void attention(const AttentionProblem &problem, char *scratch) {
  if (problem.q.dtype == DType::F64)
    return attentionTyped<double, double>(problem, scratch);
  withElement<float>(problem.q.dtype,
                     [&](auto from) { attentionTyped<float, decltype(from)>(problem, scratch); });
}

uint64_t attentionScratch(int64_t depth, int64_t valueDepth, DType dtype) {
  return attentionScratchOf(depth, valueDepth, dtype == DType::F64 ? 8 : 4);
}

} // namespace
} // namespace weft::runtime::WEFT_ISA

#endif // WEFT_RUNTIME_LIB_KERNELS_ATTENTION_H
