// Flash attention, forward and backward, as graphs that cuDNN knows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_ATTENTIONPLANS_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_ATTENTIONPLANS_H

#include "device/cuda/libraries/CudnnGraph.h"

#include "weft/runtime/Types.h"

#include <array>
#include <map>

namespace weft::runtime::cuda {

/// The numbers of its tensors: first the views of AttentionGradient in their order, of which the
/// first four are those of Attention. Then f32 without gaps: the logarithm of the sum of a row's
/// powers, by which the gradient makes the probabilities again, the sum of output times its
/// gradient over a row, both [batch, heads, queries, 1], and the gradient of queries, which is
/// added up. Then scalars.
enum AttentionPart : int64_t {
  QueryPart = 1,
  KeyPart,
  ValuePart,
  OutputPart,
  OutputGradientPart,
  QueryGradientPart,
  KeyGradientPart,
  ValueGradientPart,
  LogSumPart,
  RowSumPart,
  QuerySumPart,
  ScalePart,
  HiddenPart, // what the score of a position is that a causal row does not see
  OnePart
};

/// What a plan depends on.
struct AttentionShape {
  DType dtype = DType::BF16;
  bool causal = false, isGradient = false;
  int64_t batch = 1, queryHeads = 1, keyHeads = 1, queries = 1, keys = 1, depth = 1;
  /// By part, from QueryPart on; forward the first four.
  std::array<std::array<int64_t, 4>, ValueGradientPart> strides{};

  uint64_t rows() const { return uint64_t(batch * queryHeads * queries); }
  bool operator<(const AttentionShape &other) const;
};

/// The graph of a shape, its operations added but not finished: output and logarithms of sums, or
/// the gradients from these.
void describeAttention(const AttentionShape &shape, CudnnGraph &graph);

/// Plans by their shapes: making one takes from 0.04 to 2 seconds.
class AttentionPlans {
public:
  /// The plan stays where it is.
  Status find(const AttentionShape &shape, const CudnnPlan *&plan);
  const Cudnn &library() const { return cudnn; }

private:
  Status refusal(const AttentionShape &shape, const Status &status) const;

  Cudnn cudnn;
  std::map<AttentionShape, std::unique_ptr<CudnnPlan>> plans; // of the library
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_ATTENTIONPLANS_H
