// Convolution as a product whose right side is gathered while it is packed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are output channels, columns (image, output position), the sum runs over
// (channel, tap) in one accumulator an element. The left side is read where it
// lies: a tile broadcasts its elements, so it needs no order in memory, and
// filters, their transposes and gradients of outputs (which stand on the left
// where a filter's gradient is computed) are all taken as they are.
#ifndef WEFT_RUNTIME_LIB_KERNELS_CONVOLUTION_H
#define WEFT_RUNTIME_LIB_KERNELS_CONVOLUTION_H

#include "Vector.h"

namespace weft::runtime::WEFT_ISA {
namespace {

constexpr int64_t kBoxColumns = 512, kBoxDepth = 384;

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

/// The largest box of about `limit` points whose dims are whole from the last
/// one on; a dim that is cut is cut evenly.
inline void chooseBox(const int64_t (&extents)[4], int64_t limit, int64_t (&box)[4]) {
  int64_t room = limit;
  for (int d = 3; d >= 0; --d) {
    int64_t size = most(1, extents[d]);
    int64_t pieces = (size + room - 1) / room;
    box[d] = (size + pieces - 1) / pieces;
    room = pieces == 1 ? room / size : 1;
    room = most(room, 1);
  }
}

/// Along one spatial dim: which inputs a box of outputs and taps meets, and how
/// they lie in the window. Where taps fall on multiples of the stride, only
/// these are kept; else the last dim is kept stride by stride, so that
/// neighbouring outputs read neighbours, and the others whole.
struct WindowDim {
  int64_t unit, extent, phases, outputStep, tapStep;
  bool compact;

  WindowDim(int64_t outputs, int64_t taps, int64_t stride, int64_t dilation, bool isLast) {
    compact = taps == 1 || dilation % stride == 0;
    int64_t reach = (taps - 1) * dilation;
    unit = compact || isLast ? stride : 1;
    phases = compact || !isLast ? 1 : stride;
    outputStep = stride / unit;
    tapStep = dilation / (compact ? stride : 1);
    extent = (outputs - 1) * outputStep + reach / unit + 1;
  }
  /// Where tap t begins, in a dim of `extent` elements a phase.
  int64_t tapOffset(int64_t t) const {
    if (phases == 1)
      return t * tapStep;
    return t * tapStep % phases * extent + t * tapStep / phases;
  }
};

/// Neighbours among a panel's columns that are neighbours in memory too.
struct ColumnRun {
  int32_t first, count;
  int64_t at;
};

/// What the parts of a problem have in common.
template <typename T> struct ConvolutionPlan {
  int64_t columns, depth; // of a box
  int64_t channels, images;
  WindowDim dims[3];
  int64_t rowElements, planeElements, imageElements, channelElements;
  bool isOneBox;

  ConvolutionPlan(const ConvolutionProblem &p)
      : columns(p.columns[0] * p.columns[1] * p.columns[2] * p.columns[3]),
        depth(p.depth[0] * p.depth[1] * p.depth[2] * p.depth[3]), channels(p.depth[0]),
        images(p.columns[0]), dims{dim(p, 0), dim(p, 1), dim(p, 2)} {
    rowElements = dims[2].extent * dims[2].phases;
    planeElements = dims[1].extent * rowElements;
    imageElements = dims[0].extent * planeElements;
    channelElements = images * imageElements;
    isOneBox = p.depth[0] >= p.channels && p.depth[1] >= p.taps[0] && p.depth[2] >= p.taps[1] &&
               p.depth[3] >= p.taps[2];
  }
  static WindowDim dim(const ConvolutionProblem &p, int d) {
    return WindowDim(p.columns[d + 1], p.depth[d + 1], p.stride[d], p.dilation[d], d == 2);
  }
  int64_t panels() const { return (columns + kTileColumns<T> - 1) / kTileColumns<T>; }
  // Runs are copied in whole vectors, beyond their ends.
  uint64_t windowBytes() const {
    return aligned((channels * channelElements + kLanes<T>)*sizeof(T));
  }
  uint64_t packedBytes() const {
    return aligned((panels() * depth * kTileColumns<T> + kLanes<T>)*sizeof(T));
  }
  uint64_t sumBytes(int64_t rows) const {
    int64_t tiles = (rows + kTileRows - 1) / kTileRows;
    return aligned((isOneBox ? 1 : tiles * panels()) * kTileRows * kTileColumns<T> * sizeof(T));
  }
  uint64_t leftBytes() const { return aligned(kTileRows * depth * sizeof(T)); }
};

template <typename T, typename From>
inline void copyRow(const From *__restrict from, int64_t step, int64_t count, T *__restrict to) {
  if (step == 1)
    for (int64_t x = 0; x < count; ++x)
      to[x] = T(from[x]);
  else
    for (int64_t x = 0; x < count; ++x)
      to[x] = T(from[x * step]);
}

/// Fills the window with what channels [c0, c0 + count) hold there.
template <typename T, typename From>
void fillWindow(const ConvolutionProblem &p, const ConvolutionPlan<T> &plan,
                const int64_t (&column)[4], int64_t images, const int64_t (&depth)[4],
                int64_t count, T *window) {
  const From *in = reinterpret_cast<const From *>(p.input.data);
  const int64_t *strides = p.input.strides;
  int64_t start[3];
  for (int d = 0; d < 3; ++d)
    start[d] = column[d + 1] * p.stride[d] + depth[d + 1] * p.dilation[d] - p.pad[d];
  const WindowDim &last = plan.dims[2];
  std::memset(window + plan.channels * plan.channelElements, 0, kLanes<T> * sizeof(T));
  for (int64_t c = 0; c < count; ++c)
    for (int64_t n = 0; n < images; ++n) {
      const From *image = in + (column[0] + n) * strides[0] + (depth[0] + c) * strides[1];
      T *to = window + c * plan.channelElements + n * plan.imageElements;
      for (int64_t x0 = 0; x0 < plan.dims[0].extent; ++x0)
        for (int64_t x1 = 0; x1 < plan.dims[1].extent; ++x1) {
          int64_t i0 = start[0] + x0 * plan.dims[0].unit;
          int64_t i1 = start[1] + x1 * plan.dims[1].unit;
          bool inside = i0 >= 0 && i0 < p.in[0] && i1 >= 0 && i1 < p.in[1];
          const From *row = image + i0 * strides[2] + i1 * strides[3];
          for (int64_t q = 0; q < last.phases; ++q, to += last.extent) {
            int64_t first = start[2] + q, unit = last.unit;
            // Elements [begin, end) lie in the input.
            int64_t begin = first >= 0 ? 0 : (unit - 1 - first) / unit;
            int64_t end = first >= p.in[2] ? 0 : (p.in[2] - first + unit - 1) / unit;
            end = inside ? least(end, last.extent) : 0;
            begin = least(begin, most(end, 0));
            end = most(end, begin);
            for (int64_t x = 0; x < begin; ++x)
              to[x] = T(0);
            copyRow(row + (first + begin * unit) * strides[4], unit * strides[4], end - begin,
                    to + begin);
            for (int64_t x = end; x < last.extent; ++x)
              to[x] = T(0);
          }
        }
    }
}

/// panel[p][j] = window[offsets[p] + column j].
template <typename T>
void packColumns(const T *window, int64_t depth, const int64_t *offsets, const ColumnRun *runs,
                 int64_t numRuns, T *panel) {
  for (int64_t q = 0; q < depth; ++q) {
    const T *from = window + offsets[q];
    T *to = panel + q * kTileColumns<T>;
    for (int64_t r = 0; r < numRuns; ++r)
      // What a vector writes too much, the next run or row writes again.
      for (int64_t x = 0; x < runs[r].count; x += kLanes<T>)
        store<T>(to + runs[r].first + x, load(from + runs[r].at + x));
  }
}

template <typename T, typename From>
void storeRow(const ConvolutionProblem &p, int64_t m, T *row, const ColumnRun *runs,
              int64_t numRuns) {
  From *out = reinterpret_cast<From *>(const_cast<char *>(p.output.data)) + m * p.output.strides[1];
  int64_t step = p.output.strides[4];
  for (int64_t r = 0; r < numRuns; ++r) {
    From *to = out + runs[r].at;
    const T *from = row + runs[r].first;
    if (step == 1)
      for (int64_t x = 0; x < runs[r].count; ++x)
        to[x] = From(from[x]);
    else
      for (int64_t x = 0; x < runs[r].count; ++x)
        to[x * step] = From(from[x]);
  }
}

/// One box of columns of one problem.
template <typename T, typename From> class ConvolutionBox {
public:
  ConvolutionBox(const ConvolutionProblem &p, const ConvolutionPart &part, char *scratch)
      : p(p), part(part), plan(p) {
    window = reinterpret_cast<T *>(scratch);
    packed = reinterpret_cast<T *>(scratch += plan.windowBytes());
    sums = reinterpret_cast<T *>(scratch += plan.packedBytes());
    left = reinterpret_cast<T *>(scratch += plan.sumBytes(part.lastRow - part.firstRow));
    placeColumns();
  }

  void run() {
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

private:
  /// The columns' places in the window and in the output, as runs a panel.
  void placeColumns() {
    constexpr int64_t width = kTileColumns<T>;
    const int64_t *strides = p.output.strides;
    for (int d = 0; d < 4; ++d) {
      int64_t extent = d ? p.out[d - 1] : p.images;
      box[d] = least(p.columns[d], extent - part.column[d]);
    }
    int64_t j = 0, lastFrom = 0, lastTo = 0;
    int64_t numIn = 0, numOut = 0;
    for (int64_t n = 0; n < box[0]; ++n)
      for (int64_t d = 0; d < box[1]; ++d)
        for (int64_t h = 0; h < box[2]; ++h)
          for (int64_t w = 0; w < box[3]; ++w, ++j) {
            int64_t from =
                n * plan.imageElements + d * plan.dims[0].outputStep * plan.planeElements +
                h * plan.dims[1].outputStep * plan.rowElements + w * plan.dims[2].outputStep;
            int64_t to = (part.column[0] + n) * strides[0] + (part.column[1] + d) * strides[2] +
                         (part.column[2] + h) * strides[3] + (part.column[3] + w) * strides[4];
            bool opens = j % width == 0;
            if (opens) {
              firstIn[j / width] = numIn;
              firstOut[j / width] = numOut;
            }
            int32_t place = int32_t(j % width);
            if (opens || from != lastFrom + 1)
              in[numIn++] = {place, 0, from};
            if (opens || to != lastTo + strides[4])
              out[numOut++] = {place, 0, to};
            ++in[numIn - 1].count;
            ++out[numOut - 1].count;
            lastFrom = from, lastTo = to;
          }
    columns = j;
    panels = (columns + width - 1) / width;
    firstIn[panels] = numIn;
    firstOut[panels] = numOut;
  }

  void multiply(const int64_t (&at)[4], const int64_t (&size)[4], bool first, bool last) {
    constexpr int64_t width = kTileColumns<T>;
    const int64_t *strides = p.weight.strides;
    int64_t depth = 0;
    for (int64_t c = 0; c < size[0]; ++c)
      for (int64_t t0 = 0; t0 < size[1]; ++t0)
        for (int64_t t1 = 0; t1 < size[2]; ++t1)
          for (int64_t t2 = 0; t2 < size[3]; ++t2, ++depth) {
            windowOffsets[depth] =
                c * plan.channelElements + plan.dims[0].tapOffset(t0) * plan.planeElements +
                plan.dims[1].tapOffset(t1) * plan.rowElements + plan.dims[2].tapOffset(t2);
            leftOffsets[depth] = (at[0] + c) * strides[1] + (at[1] + t0) * strides[2] +
                                 (at[2] + t1) * strides[3] + (at[3] + t2) * strides[4];
          }
    if (depth > 0)
      fillWindow<T, From>(p, plan, part.column, box[0], at, size[0], window);
    if (columns % width != 0) // no stray values, which might be slow ones
      std::memset(packed + (panels - 1) * depth * width, 0, size_t(depth * width) * sizeof(T));
    for (int64_t j = 0; j < panels; ++j)
      packColumns(window, depth, windowOffsets, in + firstIn[j], firstIn[j + 1] - firstIn[j],
                  packed + j * depth * width);
    for (int64_t i = part.firstRow; i < part.lastRow; i += kTileRows) {
      int64_t count = least(kTileRows, part.lastRow - i);
      const T *rows;
      int64_t stride;
      const int64_t *offsets = placeRows(i, count, depth, rows, stride);
      for (int64_t j = 0; j < panels; ++j) {
        int64_t number = (i - part.firstRow) / kTileRows * panels + j;
        T *tile = plan.isOneBox ? sums : sums + number * kTileRows * width;
        multiplySomeRows(count, depth, rows, stride, offsets, packed + j * depth * width, tile,
                         first);
        if (last)
          for (int64_t r = 0; r < count; ++r)
            storeRow<T, From>(p, i + r, tile + r * width, out + firstOut[j],
                              firstOut[j + 1] - firstOut[j]);
      }
    }
  }

  /// Rows of the left side; of another type than T, as copies. Gives the places
  /// of their elements.
  const int64_t *placeRows(int64_t i, int64_t count, int64_t depth, const T *&rows,
                           int64_t &stride) {
    const From *weight = reinterpret_cast<const From *>(p.weight.data) + i * p.weight.strides[0];
    if constexpr (std::is_same_v<T, From>) {
      rows = weight;
      stride = p.weight.strides[0];
      return leftOffsets;
    } else {
      for (int64_t r = 0; r < count; ++r)
        for (int64_t q = 0; q < depth; ++q)
          left[r * depth + q] = T(weight[r * p.weight.strides[0] + leftOffsets[q]]);
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
  int64_t box[4];
  int64_t columns = 0, panels = 0;
  static constexpr int64_t kMostPanels = kBoxColumns / kTileColumns<T> + 1;
  ColumnRun in[kBoxColumns], out[kBoxColumns];
  int64_t firstIn[kMostPanels + 1], firstOut[kMostPanels + 1];
  int64_t windowOffsets[kBoxDepth], leftOffsets[kBoxDepth], inOrder[kBoxDepth];
};

void planConvolution(ConvolutionProblem &p) {
  chooseBox({p.images, p.out[0], p.out[1], p.out[2]}, kBoxColumns, p.columns);
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
