// Convolution as a product whose right side is gathered while it is packed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are output channels, columns (image, output position), the sum runs over
// (channel, tap) in one accumulator an element. The left side is read where it
// lies: a tile broadcasts its elements, so it needs no order in memory, and
// filters, their transposes and gradients of outputs (which stand on the left
// where a filter's gradient is computed) are all taken as they are. With so few
// output channels a group (depthwise) that a packed column would hardly be read
// again, columns are multiplied where they lie in the window.
#ifndef WEFT_RUNTIME_LIB_KERNELS_CONVOLUTION_H
#define WEFT_RUNTIME_LIB_KERNELS_CONVOLUTION_H

#include "ConvolutionWindow.h"

namespace weft::runtime::WEFT_ISA {
namespace {

/// tile[i][j] += sum over p of a[i * stride + offsets[p]] * b[p][j], or = if
/// `first`.
template <typename T, int64_t Rows>
inline void multiplyRows(int64_t k, const T *a, int64_t stride, const int64_t *offsets, const T *b,
                         T *tile, bool first) {
  constexpr int64_t width = kTileColumns<T>;
  Vec<T> sums[Rows][2] = {};
  if (!first) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      sums[i][0] = load(tile + i * width);
      sums[i][1] = load(tile + i * width + kLanes<T>);
    }
  }
  for (int64_t p = 0; p < k; ++p) {
    Vec<T> b0 = load(b), b1 = load(b + kLanes<T>);
    const T *row = a + offsets[p];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      sums[i][0] += b0 * *row;
      sums[i][1] += b1 * *row;
      row += stride;
    }
    b += width;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    store<T>(tile + i * width, sums[i][0]);
    store<T>(tile + i * width + kLanes<T>, sums[i][1]);
  }
}

/// The same for a number of rows up to kTileRows.
template <typename T, int64_t Rows = kTileRows>
void multiplySomeRows(int64_t count, int64_t k, const T *a, int64_t stride, const int64_t *offsets,
                      const T *b, T *tile, bool first) {
  if (count == Rows)
    return multiplyRows<T, Rows>(k, a, stride, offsets, b, tile, first);
  if constexpr (Rows > 1)
    multiplySomeRows<T, Rows - 1>(count, k, a, stride, offsets, b, tile, first);
}

/// A vector of neighbours in what is read, and its place among the sums.
struct PlacedVector {
  int64_t from, to;
};

/// sums[i][to + x] += sum over p of a[i * stride + offsets[p]] *
/// source[from + sourceOffsets[p] + x], or = if `first`, for Vectors vectors of x.
template <typename T, int64_t Rows, int64_t Vectors>
inline void multiplyVectors(int64_t k, const T *a, int64_t stride, const int64_t *offsets,
                            const T *source, const int64_t *sourceOffsets,
                            const PlacedVector *places, T *to, int64_t toStride, bool first) {
  Vec<T> sums[Rows][Vectors] = {};
  const T *from[Vectors];
  for (int v = 0; v < Vectors; ++v)
    from[v] = source + places[v].from;
  if (!first)
    for (int i = 0; i < Rows; ++i)
      for (int v = 0; v < Vectors; ++v)
        sums[i][v] = load(to + i * toStride + places[v].to);
  for (int64_t p = 0; p < k; ++p) {
    int64_t offset = sourceOffsets[p];
    const T *row = a + offsets[p];
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        sums[i][v] += load(from[v] + offset) * row[i * stride];
  }
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < Vectors; ++v)
      store<T>(to + i * toStride + places[v].to, sums[i][v]);
}

/// The same for any number of rows up to Rows, and of vectors.
template <typename T, int64_t Rows = kFewOutputs>
void multiplyPlaced(int64_t rows, int64_t k, const T *a, int64_t stride, const int64_t *offsets,
                    const T *source, const int64_t *sourceOffsets, const PlacedVector *places,
                    int64_t count, T *to, int64_t toStride, bool first) {
  if constexpr (Rows > 1)
    if (rows < Rows)
      return multiplyPlaced<T, Rows - 1>(rows, k, a, stride, offsets, source, sourceOffsets, places,
                                         count, to, toStride, first);
  int64_t v = 0;
  for (; v + 4 <= count; v += 4)
    multiplyVectors<T, Rows, 4>(k, a, stride, offsets, source, sourceOffsets, places + v, to,
                                toStride, first);
  for (; v < count; ++v)
    multiplyVectors<T, Rows, 1>(k, a, stride, offsets, source, sourceOffsets, places + v, to,
                                toStride, first);
}

/// One box of columns of one problem, of one group after the other.
template <typename T, typename From> class ConvolutionBox {
public:
  ConvolutionBox(const ConvolutionProblem &p, const ConvolutionPart &part, char *scratch)
      : p(p), part(part), plan(p) {
    window = reinterpret_cast<T *>(scratch);
    packed = reinterpret_cast<T *>(scratch += plan.windowBytes());
    sums = reinterpret_cast<T *>(scratch += plan.packedBytes());
    left = reinterpret_cast<T *>(scratch += plan.sumBytes(part.lastRow - part.firstRow));
    for (int d = 0; d < 4; ++d)
      box[d] = least(p.columns[d], (d ? p.out[d - 1] : p.images) - part.column[d]);
    readsInPlace = mayReadInPlace();
    placeColumns();
  }

  void run() {
    for (int64_t group = part.firstGroup; group < part.lastGroup; ++group) {
      const int64_t *in = p.input.strides, *out = p.output.strides, *filter = p.weight.strides;
      input = reinterpret_cast<const From *>(p.input.data) + group * p.channels * in[1];
      weight = reinterpret_cast<const From *>(p.weight.data) + group * p.outputs * filter[0];
      output =
          reinterpret_cast<From *>(const_cast<char *>(p.output.data)) + group * p.outputs * out[1];
      runGroup();
    }
  }

private:
  void runGroup() {
    int64_t whole[4] = {p.channels, p.taps[0], p.taps[1], p.taps[2]};
    int64_t at[4] = {};
    bool first = true;
    do { // once even if there are no taps: an empty sum is zero
      int64_t size[4], next = 3;
      for (int d = 0; d < 4; ++d)
        size[d] = least(p.depth[d], whole[d] - at[d]);
      // The next box, or none.
      int64_t after[4];
      std::memcpy(after, at, sizeof at);
      for (; next >= 0; --next) {
        after[next] += p.depth[next];
        if (after[next] < whole[next])
          break;
        after[next] = 0;
      }
      multiply(at, size, first, next < 0);
      first = false;
      std::memcpy(at, after, sizeof at);
      if (next < 0)
        break;
    } while (true);
  }

  /// Whether all that the box reads lies in the input, and columns that are neighbours are
  /// neighbours there.
  bool mayReadInPlace() const {
    if (!std::is_same_v<T, From> || !plan.packs || p.input.strides[4] * plan.dims[2].unit != 1)
      return false;
    for (int d = 0; d < 3; ++d) {
      int64_t first = part.column[d + 1] * p.stride[d] - p.pad[d];
      int64_t reach = (box[d + 1] - 1) * p.stride[d] + (p.taps[d] - 1) * p.dilation[d];
      if (plan.dims[d].phases != 1 || first < 0 || first + reach >= p.in[d])
        return false;
    }
    return true;
  }

  /// What channels and taps from `at` on read.
  Source<T> sourceOf(const int64_t (&at)[4], int64_t channels) {
    int64_t start[3];
    for (int d = 0; d < 3; ++d)
      start[d] = part.column[d + 1] * p.stride[d] + at[d + 1] * p.dilation[d] - p.pad[d];
    if constexpr (std::is_same_v<T, From>)
      if (readsInPlace) {
        const int64_t *strides = p.input.strides;
        return {input + part.column[0] * strides[0] + at[0] * strides[1] + start[0] * strides[2] +
                    start[1] * strides[3] + start[2] * strides[4],
                strides[1],
                strides[0],
                {along(0), along(1), along(2)}};
      }
    if (channels > 0)
      fillWindow<T, From>(p, plan, input, start, part.column[0], box[0], at[0], channels, window);
    return {window, plan.channelElements, plan.imageElements, {along(0), along(1), along(2)}};
  }
  /// From an element of a spatial dim to the next one.
  int64_t along(int d) const {
    if (readsInPlace)
      return p.input.strides[d + 2] * plan.dims[d].unit;
    return d == 0 ? plan.planeElements : d == 1 ? plan.rowElements : 1;
  }
  int64_t imageStep() const { return readsInPlace ? p.input.strides[0] : plan.imageElements; }

  /// The columns' places in what is read and in the output.
  void placeColumns() {
    const int64_t *strides = p.output.strides;
    for (int64_t n = 0; n < box[0]; ++n)
      for (int64_t d = 0; d < box[1]; ++d)
        for (int64_t h = 0; h < box[2]; ++h) {
          int64_t from = n * imageStep() + d * plan.dims[0].outputStep * along(0) +
                         h * plan.dims[1].outputStep * along(1);
          int64_t to = (part.column[0] + n) * strides[0] + (part.column[1] + d) * strides[2] +
                       (part.column[2] + h) * strides[3] + part.column[3] * strides[4];
          if (plan.packs)
            placeInPanels(from, to, box[3]);
          else
            placeUnpacked(from, to, box[3]);
        }
    if (!plan.packs)
      return;
    panels = (columns + kTileColumns<T> - 1) / kTileColumns<T>;
    firstIn[panels] = numIn;
    firstOut[panels] = numOut;
  }
  static void append(ColumnRun *runs, int64_t &number, bool opens, ColumnRun next, int64_t step) {
    if (!opens && runs[number - 1].at + runs[number - 1].count * step == next.at)
      runs[number - 1].count += next.count;
    else
      runs[number++] = next;
  }
  void placeInPanels(int64_t from, int64_t to, int64_t count) {
    constexpr int64_t width = kTileColumns<T>;
    while (count > 0) {
      int64_t place = columns % width, piece = least(count, width - place);
      if (place == 0) {
        firstIn[columns / width] = numIn;
        firstOut[columns / width] = numOut;
      }
      append(in, numIn, place == 0, {int32_t(place), int32_t(piece), from}, 1);
      append(out, numOut, place == 0, {int32_t(place), int32_t(piece), to}, p.output.strides[4]);
      from += piece;
      to += piece * p.output.strides[4];
      columns += piece;
      count -= piece;
    }
  }
  /// Each run begins with a vector of its own.
  void placeUnpacked(int64_t from, int64_t to, int64_t count) {
    append(out, numOut, true, {int32_t(columns), int32_t(count), to}, 1);
    for (int64_t x = 0; x < count; x += kLanes<T>, columns += kLanes<T>)
      vectors[numVectors++] = {from + x, columns};
  }

  void multiply(const int64_t (&at)[4], const int64_t (&size)[4], bool first, bool last) {
    Source<T> source = sourceOf(at, size[1] * size[2] * size[3] > 0 ? size[0] : 0);
    if (depth < 0 || !plan.isOneBox) // else they are those of the group before
      placeTerms(at, size, source);
    if (plan.packs)
      multiplyPacked(source.data, first, last);
    else
      multiplyUnpacked(source.data, first, last);
  }

  /// The terms' places in what is read and in the left side.
  void placeTerms(const int64_t (&at)[4], const int64_t (&size)[4], const Source<T> &source) {
    const int64_t *strides = p.weight.strides;
    depth = 0;
    for (int64_t c = 0; c < size[0]; ++c)
      for (int64_t t0 = 0; t0 < size[1]; ++t0)
        for (int64_t t1 = 0; t1 < size[2]; ++t1)
          for (int64_t t2 = 0; t2 < size[3]; ++t2, ++depth) {
            sourceOffsets[depth] = c * source.channel +
                                   plan.dims[0].tapOffset(t0) * source.along[0] +
                                   plan.dims[1].tapOffset(t1) * source.along[1] +
                                   plan.dims[2].tapOffset(t2) * source.along[2];
            leftOffsets[depth] = (at[0] + c) * strides[1] + (at[1] + t0) * strides[2] +
                                 (at[2] + t1) * strides[3] + (at[3] + t2) * strides[4];
          }
  }

  void multiplyPacked(const T *source, bool first, bool last) {
    constexpr int64_t width = kTileColumns<T>;
    if (columns % width != 0) // no stray values, which might be slow ones
      std::memset(packed + (panels - 1) * depth * width, 0, size_t(depth * width) * sizeof(T));
    auto pack = readsInPlace ? packColumnsExactly<T> : packColumns<T>;
    for (int64_t j = 0; j < panels; ++j)
      pack(source, depth, sourceOffsets, in + firstIn[j], firstIn[j + 1] - firstIn[j],
           packed + j * depth * width);
    for (int64_t i = part.firstRow; i < part.lastRow; i += kTileRows) {
      int64_t count = least(kTileRows, part.lastRow - i);
      const T *rows;
      int64_t stride;
      const int64_t *offsets = placeRows(i, count, rows, stride);
      for (int64_t j = 0; j < panels; ++j) {
        int64_t number = (i - part.firstRow) / kTileRows * panels + j;
        T *tile = plan.isOneBox ? sums : sums + number * kTileRows * width;
        multiplySomeRows(count, depth, rows, stride, offsets, packed + j * depth * width, tile,
                         first);
        if (last)
          for (int64_t r = 0; r < count; ++r)
            storeRow(tile + r * width, output + (i + r) * p.output.strides[1], p.output.strides[4],
                     out + firstOut[j], firstOut[j + 1] - firstOut[j]);
      }
    }
  }

  void multiplyUnpacked(const T *source, bool first, bool last) {
    int64_t count = part.lastRow - part.firstRow;
    const T *rows;
    int64_t stride;
    const int64_t *offsets = placeRows(part.firstRow, count, rows, stride);
    multiplyPlaced(count, depth, rows, stride, offsets, source, sourceOffsets, vectors, numVectors,
                   sums, plan.unpackedColumns, first);
    if (last)
      for (int64_t r = 0; r < count; ++r)
        storeRow(sums + r * plan.unpackedColumns,
                 output + (part.firstRow + r) * p.output.strides[1], p.output.strides[4], out,
                 numOut);
  }

  /// Rows of the left side; of another type than T, as copies. Gives the places
  /// of their elements.
  const int64_t *placeRows(int64_t i, int64_t count, const T *&rows, int64_t &stride) {
    const From *from = weight + i * p.weight.strides[0];
    if constexpr (std::is_same_v<T, From>) {
      rows = from;
      stride = p.weight.strides[0];
      return leftOffsets;
    } else {
      for (int64_t r = 0; r < count; ++r)
        for (int64_t q = 0; q < depth; ++q)
          left[r * depth + q] = T(from[r * p.weight.strides[0] + leftOffsets[q]]);
      for (int64_t q = 0; q < depth; ++q)
        inOrder[q] = q;
      rows = left;
      stride = depth;
      return inOrder;
    }
  }

  const ConvolutionProblem &p;
  const ConvolutionPart &part;
  ConvolutionPlan<T> plan;
  T *window, *packed, *sums, *left;
  const From *input, *weight; // of the group
  From *output;
  int64_t box[4];
  bool readsInPlace;
  int64_t depth = -1; // of the terms that are placed
  int64_t columns = 0, panels = 0, numIn = 0, numOut = 0, numVectors = 0;
  static constexpr int64_t kMostPanels = kBoxColumns / kTileColumns<T> + 1;
  ColumnRun in[kBoxColumns], out[kUnpackedColumns];
  PlacedVector vectors[kUnpackedColumns];
  int64_t firstIn[kMostPanels + 1], firstOut[kMostPanels + 1];
  int64_t sourceOffsets[kBoxDepth], leftOffsets[kBoxDepth], inOrder[kBoxDepth];
};

void planConvolution(ConvolutionProblem &p) {
  chooseBox({p.images, p.out[0], p.out[1], p.out[2]}, isPacked(p) ? kBoxColumns : kUnpackedColumns,
            p.columns);
  chooseBox({p.channels, p.taps[0], p.taps[1], p.taps[2]}, kBoxDepth, p.depth);
}

uint64_t convolutionScratch(const ConvolutionProblem &p, int64_t rows) {
  auto bytes = [&](const auto &plan, bool copiesLeft) {
    return plan.windowBytes() + plan.packedBytes() + plan.sumBytes(rows) +
           (copiesLeft ? plan.leftBytes() : 0);
  };
  if (p.input.dtype == DType::F64)
    return bytes(ConvolutionPlan<double>(p), false);
  return bytes(ConvolutionPlan<float>(p), p.input.dtype != DType::F32);
}

void convolution(const ConvolutionProblem &p, const ConvolutionPart &part, char *scratch) {
  if (p.input.dtype == DType::F64)
    return ConvolutionBox<double, double>(p, part, scratch).run();
  withElement<float>(p.input.dtype, [&](auto from) {
    ConvolutionBox<float, decltype(from)>(p, part, scratch).run();
  });
}

} // namespace
} // namespace weft::runtime::WEFT_ISA

#endif // WEFT_RUNTIME_LIB_KERNELS_CONVOLUTION_H
