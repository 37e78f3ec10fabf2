// What a box of a convolution's columns and terms reads: a window of the input, filled and packed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_KERNELS_CONVOLUTIONWINDOW_H
#define WEFT_RUNTIME_LIB_KERNELS_CONVOLUTIONWINDOW_H

#include "DenseKernels.h"
#include "Vector.h"

namespace weft::runtime::WEFT_ISA {
namespace {

constexpr int64_t kBoxColumns = 512, kBoxDepth = 384;
/// Up to so many rows columns are not packed; their boxes are larger, as all that a box keeps is
/// its window and its sums.
constexpr int64_t kFewOutputs = 2, kUnpackedColumns = 2048;

inline bool isPacked(const ConvolutionProblem &p) { return p.outputs > kFewOutputs; }

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

/// Neighbours among columns, of one panel where these are packed, that are neighbours in memory
/// too.
struct ColumnRun {
  int32_t first, count;
  int64_t at;
};

template <typename T> int64_t wholeVectors(int64_t count) {
  return (count + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

/// What the parts of a problem have in common.
template <typename T> struct ConvolutionPlan {
  int64_t columns, unpackedColumns; // of a box; what is not packed lies in whole vectors
  int64_t depth;
  int64_t channels, images;
  bool packs;
  WindowDim dims[3];
  int64_t rowElements, planeElements, imageElements, channelElements;
  bool isOneBox;

  ConvolutionPlan(const ConvolutionProblem &p)
      : columns(p.columns[0] * p.columns[1] * p.columns[2] * p.columns[3]),
        unpackedColumns(columns / p.columns[3] * wholeVectors<T>(p.columns[3])),
        depth(p.depth[0] * p.depth[1] * p.depth[2] * p.depth[3]), channels(p.depth[0]),
        images(p.columns[0]), packs(isPacked(p)), dims{dim(p, 0), dim(p, 1), dim(p, 2)} {
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
    return packs ? aligned((panels() * depth * kTileColumns<T> + kLanes<T>)*sizeof(T)) : 0;
  }
  uint64_t sumBytes(int64_t rows) const {
    if (!packs)
      return aligned(rows * unpackedColumns * sizeof(T));
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
  else if (step == 2) // of its own, so that it becomes vectors
    for (int64_t x = 0; x < count; ++x)
      to[x] = T(from[x * 2]);
  else
    for (int64_t x = 0; x < count; ++x)
      to[x] = T(from[x * step]);
}

/// Where the elements of a box of columns and terms are read, and how far apart they lie.
template <typename T> struct Source {
  const T *data;
  int64_t channel, image, along[3];
};

/// Fills the window with what channels [c0, c0 + count) of a group hold there.
template <typename T, typename From>
void fillWindow(const ConvolutionProblem &p, const ConvolutionPlan<T> &plan, const From *group,
                const int64_t (&start)[3], int64_t firstImage, int64_t images, int64_t c0,
                int64_t count, T *window) {
  const int64_t *strides = p.input.strides;
  const WindowDim &last = plan.dims[2];
  std::memset(window + plan.channels * plan.channelElements, 0, kLanes<T> * sizeof(T));
  for (int64_t c = 0; c < count; ++c)
    for (int64_t n = 0; n < images; ++n) {
      const From *image = group + (firstImage + n) * strides[0] + (c0 + c) * strides[1];
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

/// panel[p][j] = from[offsets[p] + column j].
template <typename T>
void packColumns(const T *from, int64_t depth, const int64_t *offsets, const ColumnRun *runs,
                 int64_t numRuns, T *panel) {
  for (int64_t q = 0; q < depth; ++q) {
    const T *row = from + offsets[q];
    T *to = panel + q * kTileColumns<T>;
    for (int64_t r = 0; r < numRuns; ++r)
      // What a vector writes too much, the next run or row writes again.
      for (int64_t x = 0; x < runs[r].count; x += kLanes<T>)
        store<T>(to + runs[r].first + x, load(row + runs[r].at + x));
  }
}

/// The same from memory of others: no element is read that is not asked for.
template <typename T>
void packColumnsExactly(const T *from, int64_t depth, const int64_t *offsets, const ColumnRun *runs,
                        int64_t numRuns, T *panel) {
  constexpr int64_t width = kTileColumns<T>;
  bool isWhole = numRuns == 1 && runs->count == width;
  for (int64_t q = 0; q < depth; ++q) {
    const T *row = from + offsets[q];
    T *to = panel + q * width;
    if (isWhole)
      std::memcpy(to, row + runs->at, width * sizeof(T));
    else
      for (int64_t r = 0; r < numRuns; ++r)
        for (int64_t x = 0; x < runs[r].count; ++x)
          to[runs[r].first + x] = row[runs[r].at + x];
  }
}

template <typename T, typename From>
void storeRow(const T *row, From *out, int64_t step, const ColumnRun *runs, int64_t numRuns) {
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

} // namespace
} // namespace weft::runtime::WEFT_ISA

#endif // WEFT_RUNTIME_LIB_KERNELS_CONVOLUTIONWINDOW_H
