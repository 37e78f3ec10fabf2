// Chooses kernels by the processor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Libraries.h"

using namespace weft::runtime;

Libraries::Libraries() : kernels(&baseline::kDenseKernels) {
#ifdef WEFT_X86_KERNELS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels = &avx2::kDenseKernels;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    kernels = &avx512::kDenseKernels;
#endif
}
