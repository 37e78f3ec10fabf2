// The chips that kernels are made for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_TARGET_CUDA_CHIP_H
#define WEFT_LIB_TARGET_CUDA_CHIP_H

#include "llvm/ADT/StringRef.h"

namespace weft::cuda {

/// A chip by NVIDIA's name, and the oldest PTX that has it and all that we emit, in LLVM's words.
struct Chip {
  llvm::StringLiteral name, ptx;
};

inline constexpr Chip kChips[] = {{"sm_80", "+ptx80"},
                                  {"sm_90", "+ptx80"},
                                  {"sm_90a", "+ptx80"},
                                  {"sm_100", "+ptx86"},
                                  {"sm_120", "+ptx87"}};
inline constexpr const Chip &kDefaultChip = kChips[1];

} // namespace weft::cuda

#endif // WEFT_LIB_TARGET_CUDA_CHIP_H
