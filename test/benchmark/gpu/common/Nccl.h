// NCCL, opened at run time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "CollectiveReference.h"
#include "Library.h"

#include <nccl.h>

namespace weft::gpukit {

struct Nccl {
  Nccl();
  void check(ncclResult_t result, const char *call, const char *file, int line) const;
  /// Whether this NCCL has the call itself (all_to_all, gather and scatter came
  /// with 2.28); else sends stand in.
  bool isNative(Collective collective) const;

  Library library;
  ncclComm_t comm = nullptr;

  decltype(&ncclGetVersion) getVersion;
  decltype(&ncclGetErrorString) errorString;
  decltype(&ncclGetLastError) lastError;
  decltype(&ncclGetUniqueId) getUniqueId;
  decltype(&ncclCommInitRank) initRank;
  decltype(&ncclCommDestroy) commDestroy;
  decltype(&ncclCommGetAsyncError) asyncError;
  decltype(&ncclAllReduce) allReduce;
  decltype(&ncclReduce) reduce;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclAllGather) allGather;
  decltype(&ncclReduceScatter) reduceScatter;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclGroupStart) groupStart;
  decltype(&ncclGroupEnd) groupEnd;
  // Null before NCCL 2.28.
  decltype(&ncclAlltoAll) allToAll;
  decltype(&ncclGather) gather;
  decltype(&ncclScatter) scatter;
};
#define NCCL_CALL(nccl, call) (nccl).check((nccl).call, #call, __FILE__, __LINE__)

struct Ring {
  int world, rank, root;
};

/// Enqueues one collective over blocks of `count` elements; a rank that takes
/// no part still calls it.
void enqueue(const Nccl &nccl, Collective collective, const Ring &ring, const void *send,
             void *receive, uint64_t count, bool bf16, cudaStream_t stream);

} // namespace weft::gpukit
