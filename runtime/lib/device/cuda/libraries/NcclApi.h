// What of NCCL's interface the device uses, so that it builds without NCCL.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and numbers are those of nccl.h (2.18 and later), which a test holds them to where it is
// installed.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_NCCLAPI_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_NCCLAPI_H

#include "device/cuda/DriverApi.h"

#include <climits>

namespace weft::runtime::cuda {

using NcclComm = struct NcclCommTag *;

enum NcclResult : int {
  NcclSuccess = 0,
  NcclUnhandledCudaError = 1,
  NcclSystemError = 2,
  NcclInternalError = 3,
  NcclInvalidArgument = 4,
  NcclInvalidUsage = 5,
  NcclRemoteError = 6,
  NcclInProgress = 7,
};

enum NcclType : int {
  NcclI8 = 0,
  NcclU8 = 1,
  NcclI32 = 2,
  NcclI64 = 4,
  NcclF16 = 6,
  NcclF32 = 7,
  NcclF64 = 8,
  NcclBF16 = 9,
};
inline uint64_t ncclBytes(NcclType type) {
  switch (type) {
  case NcclI8:
  case NcclU8:
    return 1;
  case NcclF16:
  case NcclBF16:
    return 2;
  case NcclI32:
  case NcclF32:
    return 4;
  case NcclI64:
  case NcclF64:
    return 8;
  }
  return 0;
}

enum NcclReduction : int { NcclSum = 0, NcclProduct = 1, NcclMax = 2, NcclMin = 3 };

struct NcclUniqueId {
  char internal[128];
};

/// ncclConfig_t as 2.18 has it: the library reads `size` bytes, and takes its own defaults for what
/// came later than `version` and for what is INT_MIN.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN; // 0: calls return at once, and are asked after
  int clusterSize = INT_MIN;
  int leastBlocks = INT_MIN;
  int mostBlocks = INT_MIN;
  const char *network = nullptr;
  int splitShare = INT_MIN;
};

/// X(name in the table, symbol, parameters). All return NcclResult.
#define WEFT_NCCL(X)                                                                               \
  X(version, "ncclGetVersion", (int *version))                                                     \
  X(makeId, "ncclGetUniqueId", (NcclUniqueId * id))                                                \
  X(join, "ncclCommInitRankConfig",                                                                \
    (NcclComm * comm, int members, NcclUniqueId id, int me, NcclConfig *config))                   \
  X(finalize, "ncclCommFinalize", (NcclComm comm))                                                 \
  X(destroy, "ncclCommDestroy", (NcclComm comm))                                                   \
  X(abort, "ncclCommAbort", (NcclComm comm))                                                       \
  X(asyncError, "ncclCommGetAsyncError", (NcclComm comm, NcclResult * result))                     \
  X(groupStart, "ncclGroupStart", ())                                                              \
  X(groupEnd, "ncclGroupEnd", ())                                                                  \
  X(allReduce, "ncclAllReduce",                                                                    \
    (const void *from, void *to, size_t count, NcclType type, NcclReduction reduction,             \
     NcclComm comm, Stream stream))                                                                \
  X(broadcast, "ncclBroadcast",                                                                    \
    (const void *from, void *to, size_t count, NcclType type, int root, NcclComm comm,             \
     Stream stream))                                                                               \
  X(allGather, "ncclAllGather",                                                                    \
    (const void *from, void *to, size_t count, NcclType type, NcclComm comm, Stream stream))       \
  X(reduceScatter, "ncclReduceScatter",                                                            \
    (const void *from, void *to, size_t count, NcclType type, NcclReduction reduction,             \
     NcclComm comm, Stream stream))                                                                \
  X(send, "ncclSend",                                                                              \
    (const void *from, size_t count, NcclType type, int peer, NcclComm comm, Stream stream))       \
  X(recv, "ncclRecv",                                                                              \
    (void *to, size_t count, NcclType type, int peer, NcclComm comm, Stream stream))

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_NCCLAPI_H
