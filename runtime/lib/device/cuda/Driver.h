// The CUDA driver, opened when a program wants a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_DRIVER_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_DRIVER_H

#include "device/cuda/DriverApi.h"

#include "weft/runtime/Status.h"

#include <string>
#include <vector>

namespace weft::runtime::cuda {

/// What a launch will read and write.
struct Access {
  DevicePointer begin;
  uint64_t bytes;
  bool writes;
};

/// Its functions. One for the process, as the driver is.
class Driver {
public:
  /// Opens libcuda.so.1 where the loader finds it, or in WEFT_CUDA_PATH, and initializes it. A
  /// failure says what was tried and what to do.
  static Status open(const Driver *&driver);

#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) Result(*NAME) PARAMETERS = nullptr;
  WEFT_CUDA_DRIVER(WEFT_FIELD)
#undef WEFT_FIELD

  /// Whether this is of the GPU itself, or of work on it that ended so, whatever call tells it: the
  /// same may do on another try or another GPU.
  static bool isFault(Result result);

  /// What is left of the memory of the thread's GPU, for a message, where that is too little for
  /// libraries to work with; else empty. They take theirs when they first work, behind the arena.
  std::string shortage() const;

  /// Only a driver that emulates a GPU asks what the next launch of this thread touches; null else.
  void (*declare)(const Access *accesses, size_t count) = nullptr;
  bool emulates() const { return declare != nullptr; }
  /// What the next launch of this thread reads and writes.
  void touches(const std::vector<Access> &accesses) const {
    if (declare)
      declare(accesses.data(), accesses.size());
  }

  /// Ok, or what was tried (`what`) and why the driver refused.
  Status check(Result result, const char *what) const;

private:
  Status load();
};

/// Returns from the caller with what the driver says of a call that failed.
#define WEFT_CUDA_TRY(DRIVER, CALL, WHAT) WEFT_TRY((DRIVER).check((DRIVER).CALL, WHAT))

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_DRIVER_H
