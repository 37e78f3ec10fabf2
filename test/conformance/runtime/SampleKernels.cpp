// The sample program's kernel table, as the compiler would emit it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Program.h"

static void biasRelu(int64_t begin, int64_t end, void *const *pointers, const int64_t *scalars) {
  float *h = static_cast<float *>(pointers[0]);
  const float *bias = static_cast<const float *>(pointers[1]);
  for (int64_t r = begin; r < end; ++r)
    for (int64_t j = 0; j < scalars[0]; ++j) {
      float value = h[r * scalars[0] + j] + bias[j];
      h[r * scalars[0] + j] = value > 0 ? value : 0;
    }
}

extern "C" {
const weft_kernel_entry weft_kernel_table[] = {{"bias_relu", biasRelu}};
const uint64_t weft_kernel_count = 1;
}
