// Copies and fills of rows, by the driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_COMMANDS_ROWS_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_COMMANDS_ROWS_H

#include "device/cuda/Driver.h"

namespace weft::runtime::cuda {

/// Rows of `width` bytes that begin `pitch` bytes after one another.
struct Rows {
  DevicePointer begin;
  int64_t pitch;
};

/// `height` rows; nothing where there are none.
Status copyRows(const Driver &driver, Stream stream, const Rows &from, const Rows &to,
                int64_t width, int64_t height);

/// Fills `height` rows of `count` elements of `bytes` (1, 2, 4 or 8) bytes with `bits`.
Status fillRows(const Driver &driver, Stream stream, const Rows &to, int64_t count, int64_t height,
                int64_t bytes, uint64_t bits);

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_COMMANDS_ROWS_H
