// Exchanges small tables of numbers among processes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Processes.h"

#include <algorithm>

using namespace weft::runtime;

void Processes::open(weft_session &opened, size_t capacity) {
  session = &opened;
  const CommBackend &comm = session->shared.comm;
  stride = capacity;
  if (!comm.everyRankIsLocal) {
    number = comm.vtable->num_processes(comm.backend);
    self = session->firstRank;
  }
  storage.assign(size_t(number) * capacity, 0);
  sends.resize(size_t(number));
  staging.resize(size_t(number));
  received.resize(size_t(number));
  sendMessages = messagesOf(sends);
  stagingMessages = messagesOf(staging);
}

Status Processes::exchange(const double *values, size_t size) {
  std::copy(values, values + size, storage.data() + size_t(self) * stride);
  if (number == 1)
    return {};
  for (size_t i = 0; i < size_t(number); ++i) {
    sends[i] = {storage.data() + size_t(self) * stride, size * sizeof(double)};
    staging[i] = {storage.data() + i * stride, size * sizeof(double)};
  }
  const weft_comm_vtable *vtable = session->shared.comm.vtable;
  void *group = session->processGroup;
  WEFT_TRY(session->waiting([&](weft_status *status) {
    return vtable->exchange_begin(group, sendMessages.data(), stagingMessages.data(),
                                  received.data(), status);
  }));
  for (size_t i = 0; i < size_t(number); ++i)
    if (received[i] != staging[i].data && int64_t(i) != self)
      std::copy_n(static_cast<const double *>(received[i]), size, storage.data() + i * stride);
  return session->waiting([&](weft_status *status) { return vtable->exchange_end(group, status); });
}
