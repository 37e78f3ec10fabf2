// Judges attention by what cuDNN's documentation says of its flash attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/CudnnAttention.h"

using namespace weft::runtime;

namespace {

/// The largest depth of a head for which all chips since sm_80 have both directions.
constexpr int64_t kMostDepth = 128;
/// Elements of 16 bits in the 16 bytes that are read at a time.
constexpr int64_t kGranule = 8;
constexpr int64_t kMostOfADim = INT32_MAX;

enum : size_t { kQuery, kKey, kValue };

} // namespace

std::string weft::runtime::whyNotCudnn(const AttentionCall &call) {
  const AttentionTensor &query = call.tensors[kQuery], &key = call.tensors[kKey];
  if (call.hasMask)
    return "cuDNN is used for attention without a mask, or with a causal one that the model says "
           "by constants";
  if (call.softcap != 0)
    return "cuDNN is used for attention without a softcap";
  if (query.dtype != DType::BF16 && query.dtype != DType::F16)
    return "cuDNN does attention in bf16 and f16";
  int64_t depth = query.sizes[3];
  if (depth != call.tensors[kValue].sizes[3] || depth % kGranule != 0 || depth > kMostDepth)
    return "cuDNN does attention of heads whose depth is a multiple of " +
           std::to_string(kGranule) + ", at most " + std::to_string(kMostDepth) +
           ", and the same for values";
  if (call.causal && query.sizes[2] != key.sizes[2])
    return "cuDNN is used for causal attention of as many keys as queries";
  // One query or key is a product, and cuDNN refuses it in places.
  if (query.sizes[2] < 2 || key.sizes[2] < 2)
    return "cuDNN is used for attention of two queries and keys or more";
  for (const AttentionTensor &tensor : call.tensors) {
    for (size_t d = 0; d < 4; ++d)
      if (tensor.sizes[d] < 1 || tensor.sizes[d] > kMostOfADim)
        return "cuDNN takes 1 to " + std::to_string(kMostOfADim) + " elements of a dim";
    if (tensor.strides[3] != 1)
      return "cuDNN needs the elements of a head side by side";
    for (size_t d = 0; d < 3; ++d)
      if (tensor.sizes[d] != 1 && (tensor.strides[d] <= 0 || tensor.strides[d] % kGranule != 0))
        return "cuDNN needs rows that begin at multiples of 16 bytes";
  }
  return "";
}
