// cuDNN, opened when a program has attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNN_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNN_H

#include "device/cuda/libraries/CudnnApi.h"

#include "weft/runtime/Status.h"

#include <string>

namespace weft::runtime::cuda {

/// One for a GPU: the library's functions and a handle.
class Cudnn {
public:
  Cudnn() = default;
  ~Cudnn();
  Cudnn(const Cudnn &) = delete;

  /// Opens libcudnn.so.9, once. The device's context is the thread's. A failure says what was
  /// tried and what to install.
  Status open();
  /// Takes the functions of a library that is open, if its version is one that can be used. Without
  /// a handle, so without a GPU, everything can be described, but nothing planned.
  Status load(void *library);

#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) DnnStatus(*NAME) PARAMETERS = nullptr;
  WEFT_CUDNN(WEFT_FIELD)
#undef WEFT_FIELD

  DnnHandle handle = nullptr;

  /// Of a library that is open: 9.19.0.
  std::string versionName() const;

  /// Ok, or what was tried (`what`) and why the library refused.
  Status check(DnnStatus status, const char *what) const;

private:
  size_t (*version)() = nullptr;
  const char *(*errorText)(DnnStatus status) = nullptr;
  void (*lastError)(char *text, size_t bytes) = nullptr;
};

/// Returns from the caller with what the library says of a call that failed.
#define WEFT_DNN_TRY(DNN, CALL, WHAT) WEFT_TRY((DNN).check((DNN).CALL, WHAT))

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNN_H
