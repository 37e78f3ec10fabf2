// Matrix product of our own, for any strides; built per instruction set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DenseKernels.h"

#include "Attention.h"

namespace weft::runtime::WEFT_ISA {
namespace {

/// Bytes of packed operands that should stay in the second-level cache.
constexpr int64_t kPackedA = 192 * 1024;
constexpr int64_t kPackedB = 512 * 1024;

template <typename T> struct Blocks {
  int64_t rows, columns; // of a and b packed at once

  Blocks(int64_t m, int64_t n, int64_t k) {
    int64_t bytes = most(k, 1) * int64_t(sizeof(T));
    rows = fit(kPackedA / bytes, kTileRows, m);
    columns = fit(kPackedB / bytes, kTileColumns<T>, n);
  }
  static int64_t fit(int64_t wanted, int64_t tile, int64_t extent) {
    int64_t all = (extent + tile - 1) / tile * tile;
    return most(tile, least(all, wanted / tile * tile));
  }
  uint64_t aBytes(int64_t k) const { return aligned(rows * k * sizeof(T)); }
  uint64_t bBytes(int64_t k) const { return aligned(columns * k * sizeof(T)); }
};

template <typename T>
void storeTile(const GemmProblem &p, int64_t i0, int64_t j0, int64_t rows,
               int64_t columns, T *tile) {
  constexpr int64_t width = kTileColumns<T>;
  bool plain = p.alpha == 1.0 && !p.bias.data && !p.residual.data &&
               p.activation == Activation::None;
  DType own = std::is_same_v<T, double> ? DType::F64 : DType::F32;
  if (plain && p.c.dtype == own && p.c.column == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      T *c = reinterpret_cast<T *>(const_cast<char *>(p.c.data)) +
             (i0 + i) * p.c.row + j0;
      for (int64_t j = 0; j < columns; ++j)
        c[j] = p.accumulate ? c[j] + tile[i * width + j] : tile[i * width + j];
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    T *row = tile + i * width;
    for (int64_t j = 0; j < columns; ++j) {
      row[j] *= T(p.alpha);
      if (p.bias.data)
        row[j] += readAs<T>(p.bias, i0 + i, j0 + j);
    }
    if (p.activation != Activation::None)
      activateSpan(p.activation, row, columns);
    for (int64_t j = 0; j < columns; ++j) {
      if (p.residual.data)
        row[j] += readAs<T>(p.residual, i0 + i, j0 + j);
      if (p.accumulate)
        row[j] += readAs<T>(p.c, i0 + i, j0 + j);
      writeAs(p.c, i0 + i, j0 + j, row[j]);
    }
  }
}

template <typename T, typename From>
void gemmTyped(const GemmProblem &p, char *scratch) {
  Blocks<T> blocks(p.m, p.n, p.k);
  constexpr int64_t width = kTileColumns<T>;
  const From *a = reinterpret_cast<const From *>(p.a.data);
  const From *b = reinterpret_cast<const From *>(p.b.data);
  T *packedA = reinterpret_cast<T *>(scratch);
  T *packedB = reinterpret_cast<T *>(scratch + blocks.aBytes(p.k));
  alignas(64) T tile[kTileRows * width];
  // With few rows, packing b would cost as much as the product.
  bool bInPlace =
      std::is_same_v<T, From> && p.b.column == 1 && p.m <= 2 * kTileRows;
  for (int64_t jb = 0; jb < p.n; jb += blocks.columns) {
    int64_t columns = least(blocks.columns, p.n - jb);
    for (int64_t j = 0; j < columns; j += width)
      if (!bInPlace || columns - j < width)
        packPanel(b + (jb + j) * p.b.column, p.b.column, p.b.row,
                  least(width, columns - j), p.k, width, packedB + j * p.k);
    for (int64_t ib = 0; ib < p.m; ib += blocks.rows) {
      int64_t rows = least(blocks.rows, p.m - ib);
      for (int64_t i = 0; i < rows; i += kTileRows)
        packPanel(a + (ib + i) * p.a.row, p.a.row, p.a.column,
                  least(kTileRows, rows - i), p.k, kTileRows,
                  packedA + i * p.k);
      for (int64_t j = 0; j < columns; j += width) {
        bool here = bInPlace && columns - j >= width;
        const T *panel =
            here ? reinterpret_cast<const T *>(b) + jb + j : packedB + j * p.k;
        for (int64_t i = 0; i < rows; i += kTileRows) {
          multiplyTile(p.k, packedA + i * p.k, panel, here ? p.b.row : width,
                       tile);
          storeTile(p, ib + i, jb + j, least(kTileRows, rows - i),
                    least(width, columns - j), tile);
        }
      }
    }
  }
}

void gemm(const GemmProblem &problem, char *scratch) {
  if (problem.a.dtype == DType::F64)
    return gemmTyped<double, double>(problem, scratch);
  withFloat<float>(problem.a.dtype, [&](auto from) {
    gemmTyped<float, decltype(from)>(problem, scratch);
  });
}

uint64_t gemmScratch(int64_t m, int64_t n, int64_t k, DType dtype) {
  if (dtype == DType::F64) {
    Blocks<double> blocks(m, n, k);
    return blocks.aBytes(k) + blocks.bBytes(k);
  }
  Blocks<float> blocks(m, n, k);
  return blocks.aBytes(k) + blocks.bBytes(k);
}

void activate(Activation activation, DType dtype, void *data, int64_t count) {
  if (dtype == DType::F64)
    activateSpan(activation, static_cast<double *>(data), count);
  else
    activateSpan(activation, static_cast<float *>(data), count);
}

#define WEFT_TEXT(x) #x
#define WEFT_NAME(x) WEFT_TEXT(x)

} // namespace

extern const DenseKernels kDenseKernels = {WEFT_NAME(WEFT_ISA),
                                           gemm,
                                           gemmScratch,
                                           kTileRows,
                                           kTileColumns<float>,
                                           attention,
                                           attentionScratch,
                                           kQueryRows,
                                           activate};

} // namespace weft::runtime::WEFT_ISA
