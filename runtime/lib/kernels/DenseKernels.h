// Matrix product, convolution and attention of our own, built once per instruction set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_KERNELS_DENSEKERNELS_H
#define WEFT_RUNTIME_LIB_KERNELS_DENSEKERNELS_H

#include "weft/runtime/Program.h"

namespace weft::runtime {

/// A strided matrix in memory; strides in elements.
struct MatrixRef {
  const char *data;
  DType dtype;
  int64_t row, column; // strides
};

/// What a product may add to its result, one after the other.
constexpr unsigned kMostAddends = 2;

/// c = a b (+ addends). Every element of a b is one sum
/// over k = 0, 1, ... in one accumulator, so that its bits depend neither on
/// the other rows and columns nor on threads. Addends, of c's dtype, come
/// when the sum was rounded to that, with the bits of additions of their own.
struct GemmProblem {
  int64_t m, n, k;
  MatrixRef a, b, c;
  // From the first on; data null = none. Each may be c, else apart from it.
  MatrixRef addends[kMostAddends];
};

/// One batch entry and head of attention, rows [firstRow, lastRow) of q.
struct AttentionProblem {
  int64_t rows, keys, depth, valueDepth; // whole rows
  int64_t firstRow, lastRow;
  MatrixRef q, k, v, out, mask, logSums; // mask, logSums: data null = none
  double scale, softcap;
  bool causal;
};

/// One batch entry and query head of the gradient of attention. The heads that
/// share a key head come one after the other with the same scratch, in which
/// the sums of their key and value gradients stay; the last one writes them.
struct AttentionGradientProblem {
  int64_t rows, keys, depth, valueDepth;
  MatrixRef q, k, v, out, upper, dq, dk, dv, mask; // mask data null = none
  double scale, softcap;
  bool causal, firstHead, lastHead;
};

/// A tensor [n, c, d, h, w] in memory; strides in elements.
struct ImageRef {
  const char *data;
  DType dtype;
  int64_t strides[5];
};

/// output[n, m, o] = sum over c and t of weight[m, c, t] *
/// input[n, c, o * stride + t * dilation - pad], zero outside of the input;
/// three spatial dims. Sums run over (c, t) in order, in one accumulator. `channels`
/// and `outputs` are those of one group; the next group's lie behind them.
struct ConvolutionProblem {
  int64_t images, channels, outputs;
  int64_t in[3], taps[3], out[3], stride[3], dilation[3], pad[3];
  ImageRef input, weight, output; // one dtype
  /// Output positions (n, o) and terms (c, t) that are done at once; planned.
  int64_t columns[4], depth[4];
};

/// A box of output positions from `column`, groups, and output channels of each.
struct ConvolutionPart {
  int64_t column[4];
  int64_t firstGroup, lastGroup;
  int64_t firstRow, lastRow;
};

struct DenseKernels {
  const char *name; // "avx512"
  /// `scratch` has gemmScratch bytes, 64-byte aligned.
  void (*gemm)(const GemmProblem &problem, char *scratch);
  uint64_t (*gemmScratch)(int64_t m, int64_t n, int64_t k, DType operand, DType result);
  /// Columns and rows that a part of a split problem should be multiples of.
  int64_t tileRows, tileColumns;
  void (*attention)(const AttentionProblem &problem, char *scratch);
  uint64_t (*attentionScratch)(int64_t depth, int64_t valueDepth, DType dtype);
  int64_t attentionRows; // rows of q that a part should be a multiple of
  void (*attentionGradient)(const AttentionGradientProblem &problem, char *scratch);
  uint64_t (*attentionGradientScratch)(int64_t keys, int64_t depth, int64_t valueDepth,
                                       DType dtype);
  /// Chooses `columns` and `depth` for the rest of the problem.
  void (*planConvolution)(ConvolutionProblem &problem);
  /// `scratch` has convolutionScratch bytes for as many rows, 64-byte aligned.
  void (*convolution)(const ConvolutionProblem &problem, const ConvolutionPart &part,
                      char *scratch);
  uint64_t (*convolutionScratch)(const ConvolutionProblem &problem, int64_t rows);
};

namespace baseline {
extern const DenseKernels kDenseKernels;
}
#ifdef WEFT_X86_KERNELS
namespace avx2 {
extern const DenseKernels kDenseKernels;
}
namespace avx512 {
extern const DenseKernels kDenseKernels;
}
#endif

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_KERNELS_DENSEKERNELS_H
