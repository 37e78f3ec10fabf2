// cuBLASLt, opened when a program has products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUBLASLT_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUBLASLT_H

#include "device/cuda/libraries/CublasLtApi.h"

#include "weft/runtime/Status.h"

namespace weft::runtime::cuda {

/// One for a GPU: the library's functions and a handle.
class CublasLt {
public:
  CublasLt() = default;
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;

  /// Opens libcublasLt.so.13 or .12, the driver's own first, once. The device's context is the
  /// thread's. A failure says what was tried and what to install.
  Status open();

#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) LtStatus(*NAME) PARAMETERS = nullptr;
  WEFT_CUBLASLT(WEFT_FIELD)
#undef WEFT_FIELD

  LtHandle handle = nullptr;

  /// Ok, or what was tried (`what`) and why the library refused.
  Status check(LtStatus status, const char *what) const;

private:
  const char *(*statusName)(LtStatus status) = nullptr;
};

/// Returns from the caller with what the library says of a call that failed.
#define WEFT_LT_TRY(LT, CALL, WHAT) WEFT_TRY((LT).check((LT).CALL, WHAT))

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUBLASLT_H
