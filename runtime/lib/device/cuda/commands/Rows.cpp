// Asks the driver for copies and fills of rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/commands/Rows.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

Status cuda::copyRows(const Driver &driver, Stream stream, const Rows &from, const Rows &to,
                      int64_t width, int64_t height) {
  if (width == 0 || height == 0)
    return {};
  // Pitches are bounded, what lies in one run is not.
  if (height == 1 || (from.pitch == width && to.pitch == width))
    return driver.check(driver.copy(to.begin, from.begin, size_t(width * height), stream),
                        "copying bytes");
  Copy2D copy{};
  copy.sourceKind = copy.destinationKind = DeviceMemory;
  copy.sourceDevice = from.begin;
  copy.destinationDevice = to.begin;
  copy.sourcePitch = size_t(from.pitch);
  copy.destinationPitch = size_t(to.pitch);
  copy.width = size_t(width);
  copy.height = size_t(height);
  return driver.check(driver.copy2D(&copy, stream), "copying rows");
}

static Result fill(const Driver &driver, Stream stream, const Rows &to, size_t count, size_t height,
                   int64_t bytes, uint64_t bits) {
  size_t pitch = size_t(to.pitch);
  uint32_t low = uint32_t(bits), high = uint32_t(bits >> 32);
  if (bytes == 1)
    return driver.fill8(to.begin, pitch, uint8_t(bits), count, height, stream);
  if (bytes == 2)
    return driver.fill16(to.begin, pitch, uint16_t(bits), count, height, stream);
  if (bytes == 4)
    return driver.fill32(to.begin, pitch, low, count, height, stream);
  if (low == high)
    return driver.fill32(to.begin, pitch, low, 2 * count, height, stream);
  // Each half of the elements in rows of its own: one of a row of `height` at a time.
  for (size_t row = 0; row < height; ++row)
    for (uint32_t half : {0u, 1u})
      if (Result failed = driver.fill32(to.begin + row * pitch + 4 * half, 8, half ? high : low, 1,
                                        count, stream))
        return failed;
  return Success;
}

Status cuda::fillRows(const Driver &driver, Stream stream, const Rows &to, int64_t count,
                      int64_t height, int64_t bytes, uint64_t bits) {
  if (count == 0 || height == 0)
    return {};
  return driver.check(fill(driver, stream, to, size_t(count), size_t(height), bytes, bits),
                      "filling padding");
}
