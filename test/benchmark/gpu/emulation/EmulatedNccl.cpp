// NCCL between processes of one host: a file of shared memory and a barrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulation.h"
#include "common/Random.h"

#include <atomic>
#include <fcntl.h>
#include <nccl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace weft::gpukit;

namespace {

constexpr size_t areaBytes = size_t(16) << 20;
constexpr size_t slotBytes = areaBytes / 4;

struct Barrier {
  std::atomic<int> arrived;
  std::atomic<int> turn;
};

struct Message {
  bool sends;
  void *data;
  size_t bytes;
  int peer;
};

} // namespace

struct ncclComm {
  int rank, world;
  char *shared;
  int calls = 0;

  char *area(int of) const { return shared + 4096 + size_t(of) * areaBytes; }

  void wait() const {
    Barrier *barrier = reinterpret_cast<Barrier *>(shared);
    int turn = barrier->turn.load();
    if (barrier->arrived.fetch_add(1) + 1 == world) {
      barrier->arrived = 0;
      barrier->turn = turn + 1;
      return;
    }
    while (barrier->turn.load() == turn)
      usleep(50);
  }

  /// Every rank shows its data, uses the others', and is done.
  ncclResult_t exchange(const void *send, size_t bytes, const std::function<void()> &use) {
    if (rank == 1 && ++calls == 40) {
      if (hasFault("nccl-hang"))
        for (;;)
          pause();
      if (hasFault("nccl-die"))
        _exit(9);
      if (hasFault("nccl-error"))
        return ncclInternalError;
    }
    if (bytes > areaBytes)
      return ncclInvalidArgument;
    if (bytes)
      std::memcpy(area(rank), send, bytes);
    wait();
    use();
    wait();
    return ncclSuccess;
  }
};

namespace {

std::vector<Message> messages;
/// The communicator of the group being made: the kit has one per process.
ncclComm_t grouped = nullptr;

size_t sizeOf(ncclDataType_t type) { return type == ncclBfloat16 ? 2 : 4; }

double load(const void *data, ncclDataType_t type, size_t i) {
  return type == ncclBfloat16 ? double(bf16Value(static_cast<const uint16_t *>(data)[i]))
                              : double(static_cast<const float *>(data)[i]);
}

/// out[i] = sum over ranks of element start + i of what they showed.
void sumInto(const ncclComm &comm, void *out, ncclDataType_t type, size_t start, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int from = hasFault("nccl-sum"); from < comm.world; ++from)
      sum += load(comm.area(from), type, start + i);
    if (type == ncclBfloat16)
      static_cast<uint16_t *>(out)[i] = bf16Bits(float(sum));
    else
      static_cast<float *>(out)[i] = float(sum);
  }
}

} // namespace

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  *version = 0;
  return ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t) { return "emulated error"; }
const char *ncclGetLastError(ncclComm_t) { return "planted"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::string name = "/dev/shm/weft-emulated-nccl-" + std::to_string(getpid());
  std::memset(id->internal, 0, sizeof(id->internal));
  name.copy(id->internal, sizeof(id->internal) - 1);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int world, ncclUniqueId id, int rank) {
  size_t bytes = 4096 + size_t(world) * areaBytes;
  int file = open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0)
    return ncclSystemError;
  void *shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED)
    return ncclSystemError;
  *comm = new ncclComm{rank, world, static_cast<char *>(shared)};
  (*comm)->wait();
  unlink(id.internal); // All ranks have it open: it goes when they do.
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t *error) {
  *error = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  return comm->exchange(send, count * sizeOf(type),
                        [&] { sumInto(*comm, receive, type, 0, count); });
}
ncclResult_t ncclReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                        ncclRedOp_t, int root, ncclComm_t comm, cudaStream_t) {
  return comm->exchange(send, count * sizeOf(type), [&] {
    if (comm->rank == root)
      sumInto(*comm, receive, type, 0, count);
  });
}
ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t) {
  size_t bytes = count * sizeOf(type);
  return comm->exchange(send, comm->rank == root ? bytes : 0, [&] {
    std::memcpy(receive, comm->area(hasFault("nccl-root") ? 0 : root), bytes);
  });
}
ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  size_t bytes = count * sizeOf(type);
  return comm->exchange(send, bytes, [&] {
    for (int from = 0; from < comm->world; ++from)
      std::memcpy(static_cast<char *>(receive) + size_t(from) * bytes,
                  comm->area(hasFault("nccl-order") ? comm->world - 1 - from : from), bytes);
  });
}
ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t comm, cudaStream_t) {
  return comm->exchange(send, count * size_t(comm->world) * sizeOf(type),
                        [&] { sumInto(*comm, receive, type, size_t(comm->rank) * count, count); });
}
/// Of the calls that came with 2.28 this one alone, so that the kit's stand-ins
/// for gather and scatter run too.
ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t) {
  size_t bytes = count * sizeOf(type);
  return comm->exchange(send, bytes * size_t(comm->world), [&] {
    for (int from = 0; from < comm->world; ++from)
      std::memcpy(static_cast<char *>(receive) + size_t(from) * bytes,
                  comm->area(from) + size_t(comm->rank) * bytes, bytes);
  });
}

ncclResult_t ncclGroupStart() {
  messages.clear();
  return ncclSuccess;
}
ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t) {
  grouped = comm;
  messages.push_back({true, const_cast<void *>(data), count * sizeOf(type), peer});
  return ncclSuccess;
}
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t) {
  grouped = comm;
  messages.push_back({false, data, count * sizeOf(type), peer});
  return ncclSuccess;
}
/// Each rank's area holds a slot for every peer: what it sends to that peer.
ncclResult_t ncclGroupEnd() {
  if (!grouped)
    return ncclInvalidUsage;
  for (const Message &message : messages)
    if (message.sends) {
      if (message.bytes > slotBytes)
        return ncclInvalidArgument;
      std::memcpy(grouped->area(grouped->rank) + size_t(message.peer) * slotBytes, message.data,
                  message.bytes);
    }
  grouped->wait();
  for (const Message &message : messages)
    if (!message.sends)
      std::memcpy(message.data, grouped->area(message.peer) + size_t(grouped->rank) * slotBytes,
                  message.bytes);
  grouped->wait();
  return ncclSuccess;
}

} // extern "C"
