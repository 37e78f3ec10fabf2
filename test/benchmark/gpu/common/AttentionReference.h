// Attention and its gradients in double precision on the CPU, for one group of
// heads of one sequence.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "AttentionGraph.h"

#include <vector>

namespace weft::gpukit {

/// Seeds and standard deviations of the packed queries, keys and values, and of
/// the output's gradient.
struct AttentionData {
  uint64_t seedPacked = 31, seedGradient = 32;
  float sigma = 1;
  /// The output that backward is given has been rounded, which counts where rows of the gradient
  /// are differences of large terms. False: the derivative itself.
  bool roundsOutput = true;
};

/// One key head, with all query heads that read it. Everything comes from the
/// data alone: no device result enters.
class AttentionReference {
public:
  AttentionReference(const AttentionShape &shape, const AttentionData &data, int64_t batch,
                     int64_t keyHead);

  int64_t groupSize() const { return shape.queryHeads / shape.keyHeads; }
  int64_t queryHead(int64_t member) const { return keyHead * groupSize() + member; }
  double stats(int64_t member, int64_t t) const { return logSums[size_t(member)][size_t(t)]; }
  /// Rows of `depth` elements.
  std::vector<double> output(int64_t member, int64_t t) const;
  std::vector<double> queryGradient(int64_t member, int64_t t) const;
  std::vector<double> keyGradient(int64_t j) const;
  std::vector<double> valueGradient(int64_t j) const;

private:
  /// Row-major [time, depth].
  using Matrix = std::vector<double>;

  const double *row(const Matrix &matrix, int64_t t) const {
    return matrix.data() + t * shape.depth;
  }
  /// softmax(q_t k_j scale); zero where masked.
  double probability(int64_t member, int64_t t, int64_t j) const;
  double scoreGradient(int64_t member, int64_t t, int64_t j) const;
  void forwardRow(int64_t member, int64_t t);

  AttentionShape shape;
  bool roundsOutput;
  int64_t keyHead;
  Matrix keys, keysTransposed, values;
  std::vector<Matrix> queries, outputs, gradients; ///< by member
  std::vector<std::vector<double>> logSums, rowSums;
};

} // namespace weft::gpukit
