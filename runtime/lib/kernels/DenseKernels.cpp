// Matrix product of our own, for any strides; built per instruction set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DenseKernels.h"

#include "Attention.h"

namespace weft::runtime::WEFT_ISA {
namespace {

// What is packed at once: `a` for the first half of a second-level cache, `b`
// for the other; products beyond it go through the partial sums.
constexpr int64_t kDepth = 384;
constexpr int64_t kRows = 192; // a multiple of every kTileRows
constexpr int64_t kColumns = 512;

inline int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

template <typename T> struct Blocks {
  int64_t rows, columns, depth; // of one packed block, whole tiles
  int64_t allRows;

  Blocks(int64_t m, int64_t n, int64_t k) {
    rows = least(roundUp(m, kTileRows), kRows);
    columns = least(roundUp(n, kTileColumns<T>), kColumns);
    depth = least(most(k, 1), kDepth);
    allRows = roundUp(m, kTileRows);
  }
  uint64_t aBytes() const { return aligned(rows * depth * sizeof(T)); }
  uint64_t bBytes() const { return aligned(columns * depth * sizeof(T)); }
  uint64_t sumBytes(int64_t k) const {
    return k <= kDepth ? 0 : aligned(allRows * columns * sizeof(T));
  }
};

/// The addend is of the result's type, to which the sum is rounded before; see GemmProblem.
template <typename T, typename Result>
void addTyped(const MatrixRef &addend, int64_t i0, int64_t j0, int64_t rows, int64_t columns,
              T *tile) {
  for (int64_t i = 0; i < rows; ++i) {
    T *sums = tile + i * kTileColumns<T>;
    const Result *from =
        reinterpret_cast<const Result *>(addend.data) + (i0 + i) * addend.row + j0 * addend.column;
    if (addend.column == 1)
      for (int64_t j = 0; j < columns; ++j)
        sums[j] = T(Result(sums[j])) + T(from[j]);
    else
      for (int64_t j = 0; j < columns; ++j)
        sums[j] = T(Result(sums[j])) + T(from[j * addend.column]);
  }
}
/// A function of its own: what it keeps in registers for its loops, a tile without addends must not
/// pay for.
template <typename T>
[[gnu::noinline]] void addToTile(const GemmProblem &p, int64_t i0, int64_t j0, int64_t rows,
                                 int64_t columns, T *tile) {
  for (const MatrixRef &addend : p.addends)
    if (addend.data)
      withElement<T>(addend.dtype, [&](auto element) {
        addTyped<T, decltype(element)>(addend, i0, j0, rows, columns, tile);
      });
}

template <typename T>
void storeTile(const GemmProblem &p, int64_t i0, int64_t j0, int64_t rows, int64_t columns,
               T *tile) {
  constexpr int64_t width = kTileColumns<T>;
  bool isOwn = !std::is_same_v<T, float> || p.c.dtype == DType::F32;
  if (p.addends[0].data)
    addToTile(p, i0, j0, rows, columns, tile);
  if (isOwn && p.c.column == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      T *c = reinterpret_cast<T *>(const_cast<char *>(p.c.data)) + (i0 + i) * p.c.row + j0;
      // A whole row of the tile is a few registers.
      if (columns == width)
        std::memcpy(c, tile + i * width, width * sizeof(T));
      else
        std::memcpy(c, tile + i * width, size_t(columns) * sizeof(T));
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      writeAs(p.c, i0 + i, j0 + j, tile[i * width + j]);
}

constexpr int64_t kFewRows = 8;

/// A few rows: reads b once, in the order it lies in memory, instead of packing
/// it. Sums in the same order as the tiles, so with the same bits.
template <typename T> void gemmFewRows(const GemmProblem &p, T *sums) {
  constexpr int64_t width = kTileColumns<T>;
  const T *a = reinterpret_cast<const T *>(p.a.data);
  const T *b = reinterpret_cast<const T *>(p.b.data);
  for (int64_t jb = 0; jb < p.n; jb += kColumns) {
    int64_t columns = least(kColumns, p.n - jb);
    int64_t whole = columns / kLanes<T> * kLanes<T>;
    std::memset(sums, 0, size_t(kFewRows * kColumns) * sizeof(T));
    for (int64_t q = 0; q < p.k; q += 4) {
      // Terms beyond k are skipped, not added as zeros: -0 must stay.
      int64_t terms = least(4, p.k - q);
      const T *row = b + q * p.b.row + jb;
      T factor[kFewRows][4] = {};
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t t = 0; t < terms; ++t)
          factor[i][t] = a[i * p.a.row + (q + t) * p.a.column];
      int64_t done = 0;
      if (terms == 4) {
        for (; done < whole; done += kLanes<T>) {
          Vec<T> b0 = load(row + done), b1 = load(row + p.b.row + done);
          Vec<T> b2 = load(row + 2 * p.b.row + done);
          Vec<T> b3 = load(row + 3 * p.b.row + done);
          for (int64_t i = 0; i < p.m; ++i) {
            T *to = sums + i * kColumns + done;
            Vec<T> sum = load(to);
            sum += b0 * factor[i][0];
            sum += b1 * factor[i][1];
            sum += b2 * factor[i][2];
            sum += b3 * factor[i][3];
            store<T>(to, sum);
          }
        }
      }
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t t = 0; t < terms; ++t)
          for (int64_t j = done; j < columns; ++j) {
            T &sum = sums[i * kColumns + j];
            sum = fusedAdd(row[t * p.b.row + j], factor[i][t], sum);
          }
    }
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < columns; j += width)
        storeTile(p, i, jb + j, 1, least(width, columns - j), sums + i * kColumns + j);
  }
}

constexpr int64_t kFewerRows = 4;

/// The same for a transposed b, whose columns lie contiguous: four columns by
/// four terms are turned in registers, so that nothing is written but sums.
template <int64_t Rows> void gemmFewRowsTransposed(const GemmProblem &p) {
  constexpr int64_t width = 16; // columns at once, four quads
  const float *a = reinterpret_cast<const float *>(p.a.data);
  const float *b = reinterpret_cast<const float *>(p.b.data);
  int64_t whole = p.k / 4 * 4;
  for (int64_t jb = 0; jb < p.n; jb += width) {
    int64_t columns = least(width, p.n - jb);
    alignas(64) float sums[Rows][kTileColumns<float> > width ? kTileColumns<float> : width] = {};
    int64_t done = 0;
    if (columns == width) {
      Quad quads[Rows][4] = {};
      for (; done < whole; done += 4) {
#pragma GCC unroll 4
        for (int g = 0; g < 4; ++g) {
          Quad terms[4];
          loadTransposed(b + (jb + 4 * g) * p.b.column + done, p.b.column, terms);
#pragma GCC unroll 4
          for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
            for (int t = 0; t < 4; ++t)
              quads[i][g] += terms[t] * a[i * p.a.row + (done + t) * p.a.column];
        }
      }
      for (int i = 0; i < Rows; ++i)
        std::memcpy(sums[i], quads[i], sizeof quads[i]);
    }
    for (int64_t i = 0; i < Rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t q = done; q < p.k; ++q)
          sums[i][j] =
              fusedAdd(b[(jb + j) * p.b.column + q], a[i * p.a.row + q * p.a.column], sums[i][j]);
    for (int64_t i = 0; i < Rows; ++i)
      for (int64_t j = 0; j < columns; j += kTileColumns<float>)
        storeTile(p, i, jb + j, 1, least(kTileColumns<float>, columns - j), sums[i] + j);
  }
}

template <typename T, typename From> void gemmTyped(const GemmProblem &p, char *scratch) {
  Blocks<T> blocks(p.m, p.n, p.k);
  constexpr int64_t width = kTileColumns<T>;
  const From *a = reinterpret_cast<const From *>(p.a.data);
  const From *b = reinterpret_cast<const From *>(p.b.data);
  if constexpr (std::is_same_v<T, From>) {
    if (p.m <= kFewRows && p.b.column == 1)
      return gemmFewRows<T>(p, reinterpret_cast<T *>(scratch));
  }
  if constexpr (std::is_same_v<From, float>) {
    if (p.m <= kFewerRows && p.b.row == 1)
      switch (p.m) {
      case 1:
        return gemmFewRowsTransposed<1>(p);
      case 2:
        return gemmFewRowsTransposed<2>(p);
      case 3:
        return gemmFewRowsTransposed<3>(p);
      case 4:
        return gemmFewRowsTransposed<4>(p);
      default:
        return;
      }
  }
  T *packedA = reinterpret_cast<T *>(scratch);
  T *packedB = reinterpret_cast<T *>(scratch + blocks.aBytes());
  T *sums = reinterpret_cast<T *>(scratch + blocks.aBytes() + blocks.bBytes());
  alignas(64) T tile[kTileRows * width];
  for (int64_t jb = 0; jb < p.n; jb += blocks.columns) {
    int64_t columns = least(blocks.columns, p.n - jb);
    int64_t pb = 0;
    do { // once even for k = 0: an empty sum is zero
      int64_t depth = least(kDepth, p.k - pb);
      bool first = pb == 0, last = pb + depth == p.k;
      for (int64_t j = 0; j < columns; j += width)
        packPanel(b + pb * p.b.row + (jb + j) * p.b.column, p.b.column, p.b.row,
                  least(width, columns - j), depth, width, packedB + j * depth);
      for (int64_t ib = 0; ib < p.m; ib += blocks.rows) {
        int64_t rows = least(blocks.rows, p.m - ib);
        for (int64_t i = 0; i < rows; i += kTileRows)
          packPanel(a + (ib + i) * p.a.row + pb * p.a.column, p.a.row, p.a.column,
                    least(kTileRows, rows - i), depth, kTileRows, packedA + i * depth);
        for (int64_t j = 0; j < columns; j += width)
          for (int64_t i = 0; i < rows; i += kTileRows) {
            // Partial sums of tile (i, j), row by row.
            T *partial = first && last ? tile : sums + ((ib + i) * blocks.columns + j * kTileRows);
            multiplyTile(depth, packedA + i * depth, packedB + j * depth, partial, first);
            if (last)
              storeTile(p, ib + i, jb + j, least(kTileRows, rows - i), least(width, columns - j),
                        partial);
          }
      }
      pb += depth;
    } while (pb < p.k);
  }
}

/// Calls `visit(T())` for the type in which a product sums: of integers the result's, which is as
/// wide.
template <typename Visit> auto withSum(DType operand, DType result, Visit visit) {
  if (operand == DType::F64)
    return visit(double());
  if (isFloat(operand))
    return visit(float());
  return dtypeBytes(result) == 8 ? visit(uint64_t()) : visit(uint32_t());
}

void gemm(const GemmProblem &problem, char *scratch) {
  withSum(problem.a.dtype, problem.c.dtype, [&](auto sum) {
    withElement<decltype(sum)>(problem.a.dtype, [&](auto from) {
      gemmTyped<decltype(sum), decltype(from)>(problem, scratch);
    });
  });
}

template <typename T> uint64_t gemmScratchOf(int64_t m, int64_t n, int64_t k) {
  Blocks<T> blocks(m, n, k);
  return blocks.aBytes() + blocks.bBytes() + blocks.sumBytes(k) +
         aligned(kFewRows * kColumns * sizeof(T));
}
uint64_t gemmScratch(int64_t m, int64_t n, int64_t k, DType operand, DType result) {
  return withSum(operand, result, [&](auto sum) { return gemmScratchOf<decltype(sum)>(m, n, k); });
}

} // namespace
} // namespace weft::runtime::WEFT_ISA

#include "AttentionGradient.h"
#include "Convolution.h"

namespace weft::runtime::WEFT_ISA {
namespace {

#define WEFT_TEXT(x) #x
#define WEFT_NAME(x) WEFT_TEXT(x)

} // namespace

extern const DenseKernels kDenseKernels = {WEFT_NAME(WEFT_ISA), gemm,
                                           gemmScratch,         kTileRows,
                                           kTileColumns<float>, attention,
                                           attentionScratch,    kQueryRows,
                                           attentionGradient,   attentionGradientScratch,
                                           planConvolution,     convolution,
                                           convolutionScratch};

} // namespace weft::runtime::WEFT_ISA
