// Blocked gradient of attention that never holds the whole score matrix.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a block of query rows a first walk over blocks of keys finds, per row,
// the largest score m and the sum l of exp(score - m); a second one computes
// the probabilities again and adds to all gradients. All sums of a key head run
// in one fixed order on one thread. Included by DenseKernels.cpp only, after
// gemm.
#ifndef WEFT_RUNTIME_LIB_KERNELS_ATTENTIONGRADIENT_H
#define WEFT_RUNTIME_LIB_KERNELS_ATTENTIONGRADIENT_H

#include "Attention.h"

namespace weft::runtime::WEFT_ISA {
namespace {

constexpr int64_t kGradientRows = 64; // of queries at once

/// The products of a block have no greater extents.
template <typename T> uint64_t gradientGemmScratch(int64_t depth, int64_t valueDepth) {
  int64_t wide = most(depth, valueDepth);
  uint64_t scores = gemmScratchOf<T>(kGradientRows, kKeys, wide);
  uint64_t ofKeys = gemmScratchOf<T>(kKeys, wide, kGradientRows);
  uint64_t ofQueries = gemmScratchOf<T>(kGradientRows, wide, kKeys);
  uint64_t greatest = scores > ofKeys ? scores : ofKeys;
  return greatest > ofQueries ? greatest : ofQueries;
}

/// Memory of one part; without a base it only counts.
template <typename T> struct GradientBuffers {
  T *k, *v, *dk, *dv; // of the whole key head, row-major
  T *q, *upper, *dq;  // of a block of queries
  T *scores, *slopes, *cap;
  T *largest, *scaling, *inner;
  char *gemm;
  uint64_t bytes = 0;

  GradientBuffers(int64_t keys, int64_t depth, int64_t valueDepth, char *base) {
    auto here = [&] { return base ? base + bytes : nullptr; };
    auto take = [&](int64_t elements) {
      T *result = reinterpret_cast<T *>(here());
      bytes += aligned(uint64_t(elements) * sizeof(T));
      return result;
    };
    k = take(keys * depth);
    v = take(keys * valueDepth);
    dk = take(keys * depth);
    dv = take(keys * valueDepth);
    q = take(kGradientRows * depth);
    upper = take(kGradientRows * valueDepth);
    dq = take(kGradientRows * depth);
    scores = take(kGradientRows * kKeys);
    slopes = take(kGradientRows * kKeys);
    cap = take(kGradientRows * kKeys);
    largest = take(kGradientRows);
    scaling = take(kGradientRows);
    inner = take(kGradientRows);
    gemm = here();
    bytes += gradientGemmScratch<T>(depth, valueDepth);
  }
};

template <typename T>
void copyRows(const MatrixRef &from, int64_t first, int64_t rows, int64_t columns, T *to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * columns + j] = readAs<T>(from, first + i, j);
}

/// One query head of a key head.
template <typename T> class AttentionGradient {
public:
  AttentionGradient(const AttentionGradientProblem &p, const GradientBuffers<T> &s) : p(p), s(s) {
    forward.rows = p.rows;
    forward.keys = p.keys;
    forward.mask = p.mask;
    forward.scale = p.scale;
    forward.softcap = p.softcap;
    forward.causal = p.causal;
  }

  void run() {
    if (p.firstHead) {
      copyRows(p.k, 0, p.keys, p.depth, s.k);
      copyRows(p.v, 0, p.keys, p.valueDepth, s.v);
      std::memset(s.dk, 0, size_t(p.keys * p.depth) * sizeof(T));
      std::memset(s.dv, 0, size_t(p.keys * p.valueDepth) * sizeof(T));
    }
    for (int64_t i = 0; i < p.rows; i += kGradientRows)
      block(i, least(kGradientRows, p.rows - i));
    if (!p.lastHead)
      return;
    for (int64_t j = 0; j < p.keys; ++j) {
      for (int64_t d = 0; d < p.depth; ++d)
        writeAs(p.dk, j, d, s.dk[j * p.depth + d]);
      for (int64_t e = 0; e < p.valueDepth; ++e)
        writeAs(p.dv, j, e, s.dv[j * p.valueDepth + e]);
    }
  }

private:
  /// c = a b (+ c), all row-major or (strides swapped) transposed.
  void multiply(int64_t m, int64_t n, int64_t k, const T *a, int64_t aRow, int64_t aColumn,
                const T *b, int64_t bRow, int64_t bColumn, T *c, int64_t cRow, bool accumulate) {
    constexpr DType type = std::is_same_v<T, double> ? DType::F64 : DType::F32;
    auto matrix = [&](const T *data, int64_t row, int64_t column) {
      return MatrixRef{reinterpret_cast<const char *>(data), type, row, column};
    };
    GemmProblem g{};
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = matrix(a, aRow, aColumn);
    g.b = matrix(b, bRow, bColumn);
    g.c = matrix(c, cRow, 1);
    if (accumulate)
      g.addends[0] = g.c;
    gemmTyped<T, T>(g, s.gemm);
  }

  /// Scores of a block, hidden ones and those beyond `keys` -inf; with a
  /// softcap also its derivative.
  void score(int64_t first, int64_t rows, int64_t t, int64_t keys) {
    multiply(rows, keys, p.depth, s.q, p.depth, 1, s.k + t * p.depth, 1, p.depth, s.scores, kKeys,
             false);
    for (int64_t i = 0; i < rows; ++i) {
      T *row = s.scores + i * kKeys;
      for (int64_t j = keys; j < kKeys; ++j)
        row[j] = 0;
      if (p.softcap > 0)
        for (int64_t j = 0; j < kKeys; j += kLanes<T>) {
          Vec<T> squashed = hyperbolicTangent(load(row + j) * T(p.scale / p.softcap));
          store<T>(s.cap + i * kKeys + j, T(1) - squashed * squashed);
        }
      scoreRow(forward, first + i, t, keys, row);
    }
  }

  void findLargest(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      const T *row = s.scores + i * kKeys;
      Vec<T> high = load(row);
      for (int64_t j = kLanes<T>; j < kKeys; j += kLanes<T>)
        high = larger<T>(high, load(row + j));
      T before = s.largest[i], now = largestOf<T>(high);
      now = before > now ? before : now;
      if (now == T(-HUGE_VAL)) // nothing seen yet
        continue;
      Vec<T> sum = {};
      for (int64_t j = 0; j < kKeys; j += kLanes<T>)
        sum += exponential(load(row + j) - now);
      T keep = before == now ? T(1) : std::exp(before - now);
      s.largest[i] = now;
      s.scaling[i] = s.scaling[i] * keep + sumOf<T>(sum);
    }
  }

  /// Scores become probabilities, slopes the gradients of raw products.
  void differentiate(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      T *row = s.scores + i * kKeys, *slope = s.slopes + i * kKeys;
      T scaling = s.scaling[i], largest = s.largest[i], inner = s.inner[i];
      if (largest == T(-HUGE_VAL)) { // sees nothing
        std::memset(row, 0, kKeys * sizeof(T));
        std::memset(slope, 0, kKeys * sizeof(T));
        continue;
      }
      for (int64_t j = 0; j < kKeys; j += kLanes<T>) {
        Vec<T> weight = exponential(load(row + j) - largest) * scaling;
        Vec<T> d = weight * (load(slope + j) - inner) * T(p.scale);
        if (p.softcap > 0)
          d *= load(s.cap + i * kKeys + j);
        store<T>(row + j, weight);
        store<T>(slope + j, d);
      }
    }
  }

  void block(int64_t first, int64_t rows) {
    copyRows(p.q, first, rows, p.depth, s.q);
    copyRows(p.upper, first, rows, p.valueDepth, s.upper);
    std::memset(s.dq, 0, size_t(rows * p.depth) * sizeof(T));
    for (int64_t i = 0; i < rows; ++i) {
      s.largest[i] = T(-HUGE_VAL);
      s.scaling[i] = 0;
      s.inner[i] = 0;
      for (int64_t e = 0; e < p.valueDepth; ++e)
        s.inner[i] += s.upper[i * p.valueDepth + e] * readAs<T>(p.out, first + i, e);
    }
    int64_t end = p.keys;
    if (p.causal)
      end = most(0, least(end, first + rows + p.keys - p.rows));
    for (int64_t t = 0; t < end; t += kKeys) {
      score(first, rows, t, least(kKeys, end - t));
      findLargest(rows);
    }
    for (int64_t i = 0; i < rows; ++i)
      s.scaling[i] = s.scaling[i] == 0 ? T(0) : T(1) / s.scaling[i];
    for (int64_t t = 0; t < end; t += kKeys) {
      int64_t keys = least(kKeys, end - t);
      // Those of the only block are still there.
      if (end > kKeys)
        score(first, rows, t, keys);
      multiply(rows, keys, p.valueDepth, s.upper, p.valueDepth, 1, s.v + t * p.valueDepth, 1,
               p.valueDepth, s.slopes, kKeys, false);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = keys; j < kKeys; ++j)
          s.slopes[i * kKeys + j] = 0;
      differentiate(rows);
      multiply(keys, p.valueDepth, rows, s.scores, 1, kKeys, s.upper, p.valueDepth, 1,
               s.dv + t * p.valueDepth, p.valueDepth, true);
      multiply(keys, p.depth, rows, s.slopes, 1, kKeys, s.q, p.depth, 1, s.dk + t * p.depth,
               p.depth, true);
      multiply(rows, p.depth, keys, s.slopes, kKeys, 1, s.k + t * p.depth, p.depth, 1, s.dq,
               p.depth, true);
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t d = 0; d < p.depth; ++d)
        writeAs(p.dq, first + i, d, s.dq[i * p.depth + d]);
  }

  const AttentionGradientProblem &p;
  const GradientBuffers<T> &s;
  AttentionProblem forward{};
};

template <typename T>
void attentionGradientTyped(const AttentionGradientProblem &p, char *scratch) {
  GradientBuffers<T> buffers(p.keys, p.depth, p.valueDepth, scratch);
  AttentionGradient<T>(p, buffers).run();
}

void attentionGradient(const AttentionGradientProblem &problem, char *scratch) {
  if (problem.q.dtype == DType::F64)
    attentionGradientTyped<double>(problem, scratch);
  else
    attentionGradientTyped<float>(problem, scratch);
}

uint64_t attentionGradientScratch(int64_t keys, int64_t depth, int64_t valueDepth, DType dtype) {
  if (dtype == DType::F64)
    return GradientBuffers<double>(keys, depth, valueDepth, nullptr).bytes;
  return GradientBuffers<float>(keys, depth, valueDepth, nullptr).bytes;
}

} // namespace
} // namespace weft::runtime::WEFT_ISA

#endif // WEFT_RUNTIME_LIB_KERNELS_ATTENTIONGRADIENT_H
