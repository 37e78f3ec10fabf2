// NCCL, opened when a program's collectives are to be its.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_NCCL_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_NCCL_H

#include "device/cuda/libraries/NcclApi.h"

#include "weft/runtime/Status.h"

#include <string>

namespace weft::runtime::cuda {

/// Its functions. One for the process, as NCCL is.
class Nccl {
public:
  /// Opens libnccl.so.2, once. A failure says what was tried and what to install.
  static Status open(const Nccl *&nccl);

#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) NcclResult(*NAME) PARAMETERS = nullptr;
  WEFT_NCCL(WEFT_FIELD)
#undef WEFT_FIELD

  /// Ok, or what was tried (`what`) and why the library refused; a peer that is lost is RankFailed.
  Status check(NcclResult result, const std::string &what) const;

  /// Whether abort may be called between groupStart and groupEnd, which then waits for all.
  bool abortsInGroups() const { return foundVersion >= 22200; }

private:
  Status load();

  const char *(*errorText)(NcclResult result) = nullptr;
  const char *(*lastError)(NcclComm comm) = nullptr;
  int foundVersion = 0; // 22809: 2.28.9
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_NCCL_H
