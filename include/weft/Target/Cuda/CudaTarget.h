// NVIDIA's GPUs as targets, one for each chip.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CUDA_CUDATARGET_H
#define WEFT_TARGET_CUDA_CUDATARGET_H

#include "weft/Target/Target.h"

#include <memory>
#include <vector>

namespace weft::cuda {

/// "cuda", which is "cuda:sm_90", and one target for each chip that kernels can be made for: sm_80,
/// sm_90, sm_90a, sm_100, sm_120. What is compiled for sm_80, sm_90 or sm_100 also runs on newer
/// chips, from PTX; what is for sm_90a on no other.
std::vector<std::unique_ptr<Target>> createCudaTargets();

} // namespace weft::cuda

#endif // WEFT_TARGET_CUDA_CUDATARGET_H
