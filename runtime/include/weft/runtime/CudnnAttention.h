// What of attention cuDNN does: for the compiler, which asks before it makes the command, and for
// the CUDA device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_CUDNNATTENTION_H
#define WEFT_RUNTIME_CUDNNATTENTION_H

#include "weft/runtime/Types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

/// Of Attention or AttentionGradient (Commands.h): [batch, heads, sequence, depth], in elements.
struct AttentionTensor {
  DType dtype;
  std::vector<int64_t> sizes, strides;
};

/// A command that is valid: its tensors in the order of its views, without the mask.
struct AttentionCall {
  std::vector<AttentionTensor> tensors;
  bool causal = false, hasMask = false;
  double softcap = 0;
};

/// "" if cuDNN does it, with its addresses at multiples of 16 bytes; else what it does not do.
std::string whyNotCudnn(const AttentionCall &call);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CUDNNATTENTION_H
