// Moves bytes between memory of the host and a GPU's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/Staging.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

Staging::~Staging() {
  for (Chunk &chunk : chunks) {
    if (chunk.done)
      (void)driver.destroyEvent(chunk.done);
    if (chunk.memory)
      (void)driver.hostFree(chunk.memory);
  }
  if (stream)
    (void)driver.destroyStream(stream);
}

Status Staging::open() {
  WEFT_CUDA_TRY(driver, createStream(&stream, StreamNonBlocking), "making a stream");
  for (Chunk &chunk : chunks) {
    void *memory = nullptr;
    WEFT_CUDA_TRY(driver, hostAllocate(&memory, kChunkBytes, 0), "allocating pinned memory");
    chunk.memory = static_cast<char *>(memory);
    WEFT_CUDA_TRY(driver, createEvent(&chunk.done, EventDisableTiming), "making an event");
  }
  return {};
}

Status Staging::clear(DevicePointer to, uint64_t bytes) {
  std::lock_guard<std::mutex> guard(mutex);
  WEFT_CUDA_TRY(driver, fill8(to, bytes, 0, bytes, 1, stream), "filling memory with zeros");
  return driver.check(driver.synchronizeStream(stream), "filling memory with zeros");
}

Status Staging::upload(DevicePointer to, const char *from, uint64_t bytes) {
  std::lock_guard<std::mutex> guard(mutex);
  for (uint64_t at = 0, i = 0; at < bytes; at += kChunkBytes, ++i) {
    Chunk &chunk = chunks[i % 2];
    uint64_t count = std::min(kChunkBytes, bytes - at);
    if (i >= 2)
      WEFT_CUDA_TRY(driver, synchronizeEvent(chunk.done), "waiting for an upload");
    std::memcpy(chunk.memory, from + at, count);
    WEFT_CUDA_TRY(driver, upload(to + at, chunk.memory, count, stream), "uploading");
    WEFT_CUDA_TRY(driver, recordEvent(chunk.done, stream), "recording an event");
  }
  return driver.check(driver.synchronizeStream(stream), "uploading");
}

Status Staging::download(char *to, DevicePointer from, uint64_t bytes) {
  std::lock_guard<std::mutex> guard(mutex);
  uint64_t numChunks = (bytes + kChunkBytes - 1) / kChunkBytes;
  auto size = [&](uint64_t i) { return std::min(kChunkBytes, bytes - i * kChunkBytes); };
  for (uint64_t i = 0; i < numChunks + 1; ++i) {
    if (i < numChunks) {
      Chunk &chunk = chunks[i % 2];
      WEFT_CUDA_TRY(driver, download(chunk.memory, from + i * kChunkBytes, size(i), stream),
                    "downloading");
      WEFT_CUDA_TRY(driver, recordEvent(chunk.done, stream), "recording an event");
    }
    if (i > 0) {
      Chunk &chunk = chunks[(i - 1) % 2];
      WEFT_CUDA_TRY(driver, synchronizeEvent(chunk.done), "waiting for a download");
      std::memcpy(to + (i - 1) * kChunkBytes, chunk.memory, size(i - 1));
    }
  }
  return {};
}
