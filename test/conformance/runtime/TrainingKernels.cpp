// The training sample's kernel table, as the compiler would emit it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TrainingSample.h"

using namespace weft::runtime::sample;

extern "C" {
const weft_kernel_entry weft_kernel_table[] = {kKernels[0], kKernels[1], kKernels[2], kKernels[3]};
const uint64_t weft_kernel_count = kNumKernels;
}
