// Moves bytes between memory of the host and a GPU's, through memory that both see.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_STAGING_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_STAGING_H

#include "device/cuda/Driver.h"

#include <mutex>

namespace weft::runtime::cuda {

/// Two chunks of pinned memory: one travels while the host copies the other. Any thread may move;
/// one does at a time. The context is current.
class Staging {
public:
  static constexpr uint64_t kChunkBytes = 4 << 20;

  explicit Staging(const Driver &driver) : driver(driver) {}
  ~Staging();
  Status open();
  /// All return when the bytes are there.
  Status clear(DevicePointer to, uint64_t bytes);
  Status upload(DevicePointer to, const char *from, uint64_t bytes);
  Status download(char *to, DevicePointer from, uint64_t bytes);

private:
  struct Chunk {
    char *memory = nullptr;
    Event done = nullptr;
  };
  const Driver &driver;
  std::mutex mutex;
  Stream stream = nullptr;
  Chunk chunks[2];
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_STAGING_H
