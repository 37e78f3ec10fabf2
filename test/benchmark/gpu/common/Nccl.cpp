// NCCL, opened at run time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Nccl.h"
#include "Report.h"

namespace weft::gpukit {

Nccl::Nccl() : library({"libnccl.so.2", "libnccl.so"}) {
  library.load(getVersion, "ncclGetVersion");
  library.load(errorString, "ncclGetErrorString");
  library.load(lastError, "ncclGetLastError");
  library.load(getUniqueId, "ncclGetUniqueId");
  library.load(initRank, "ncclCommInitRank");
  library.load(commDestroy, "ncclCommDestroy");
  library.load(asyncError, "ncclCommGetAsyncError");
  library.load(allReduce, "ncclAllReduce");
  library.load(reduce, "ncclReduce");
  library.load(broadcast, "ncclBroadcast");
  library.load(allGather, "ncclAllGather");
  library.load(reduceScatter, "ncclReduceScatter");
  library.load(send, "ncclSend");
  library.load(recv, "ncclRecv");
  library.load(groupStart, "ncclGroupStart");
  library.load(groupEnd, "ncclGroupEnd");
  library.loadOrNull(allToAll, "ncclAlltoAll");
  library.loadOrNull(gather, "ncclGather");
  library.loadOrNull(scatter, "ncclScatter");
}

void Nccl::check(ncclResult_t result, const char *call, const char *file, int line) const {
  if (result == ncclSuccess)
    return;
  const char *detail = lastError(comm);
  throw Failure(
      format("%s at %s:%d: %s; %s", call, file, line, errorString(result), detail ? detail : ""));
}

bool Nccl::isNative(Collective collective) const {
  switch (collective) {
  case Collective::allToAll:
    return allToAll != nullptr;
  case Collective::gather:
    return gather != nullptr;
  case Collective::scatter:
    return scatter != nullptr;
  default:
    return true;
  }
}

namespace {

/// The collectives that are sends and receives alone, in one group so that none
/// waits for another.
void enqueueSends(const Nccl &nccl, Collective collective, const Ring &ring, const char *send,
                  char *receive, uint64_t count, ncclDataType_t type, size_t bytes,
                  cudaStream_t stream) {
  bool isRoot = ring.rank == ring.root;
  NCCL_CALL(nccl, groupStart());
  for (int peer = 0; peer < ring.world; ++peer) {
    bool sends = false, receives = false;
    uint64_t sendBlock = 0, receiveBlock = 0;
    switch (collective) {
    case Collective::allToAll:
      sends = receives = true;
      sendBlock = receiveBlock = uint64_t(peer);
      break;
    case Collective::gather:
      sends = peer == ring.root;
      receives = isRoot;
      receiveBlock = uint64_t(peer);
      break;
    case Collective::scatter:
      sends = isRoot;
      receives = peer == ring.root;
      sendBlock = uint64_t(peer);
      break;
    default: // a ring
      sends = peer == (ring.rank + 1) % ring.world;
      receives = peer == (ring.rank + ring.world - 1) % ring.world;
      break;
    }
    if (sends)
      NCCL_CALL(nccl, send(send + sendBlock * count * bytes, count, type, peer, nccl.comm, stream));
    if (receives)
      NCCL_CALL(nccl,
                recv(receive + receiveBlock * count * bytes, count, type, peer, nccl.comm, stream));
  }
  NCCL_CALL(nccl, groupEnd());
}

} // namespace

void enqueue(const Nccl &nccl, Collective collective, const Ring &ring, const void *send,
             void *receive, uint64_t count, bool bf16, cudaStream_t stream) {
  ncclDataType_t type = bf16 ? ncclBfloat16 : ncclFloat32;
  switch (collective) {
  case Collective::allReduce:
    NCCL_CALL(nccl, allReduce(send, receive, count, type, ncclSum, nccl.comm, stream));
    return;
  case Collective::reduce:
    NCCL_CALL(nccl, reduce(send, receive, count, type, ncclSum, ring.root, nccl.comm, stream));
    return;
  case Collective::broadcast:
    NCCL_CALL(nccl, broadcast(send, receive, count, type, ring.root, nccl.comm, stream));
    return;
  case Collective::allGather:
    NCCL_CALL(nccl, allGather(send, receive, count, type, nccl.comm, stream));
    return;
  case Collective::reduceScatter:
    NCCL_CALL(nccl, reduceScatter(send, receive, count, type, ncclSum, nccl.comm, stream));
    return;
  case Collective::allToAll:
    if (nccl.allToAll) {
      NCCL_CALL(nccl, allToAll(send, receive, count, type, nccl.comm, stream));
      return;
    }
    break;
  case Collective::gather:
    if (nccl.gather) {
      NCCL_CALL(nccl, gather(send, receive, count, type, ring.root, nccl.comm, stream));
      return;
    }
    break;
  case Collective::scatter:
    if (nccl.scatter) {
      NCCL_CALL(nccl, scatter(send, receive, count, type, ring.root, nccl.comm, stream));
      return;
    }
    break;
  case Collective::sendRecv:
    break;
  }
  enqueueSends(nccl, collective, ring, static_cast<const char *>(send),
               static_cast<char *>(receive), count, type, bf16 ? 2 : 4, stream);
}

} // namespace weft::gpukit
