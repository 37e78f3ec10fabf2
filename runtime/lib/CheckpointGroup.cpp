// What the processes of a job tell each other about a checkpoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointGroup.h"

#include <cstring>

using namespace weft::runtime;

namespace {

/// Gives `sent` bytes of every process to all; `received[i]` must have the size
/// that process i sends. The group is made for this call: it is not on a fast
/// path.
Status exchange(weft_session &session, const std::string &sent,
                std::vector<std::string> &received) {
  const CommBackend &comm = session.shared.comm;
  int64_t processes = int64_t(received.size());
  std::vector<int64_t> ranks(received.size());
  for (int64_t i = 0; i < processes; ++i)
    ranks[i] = i;
  void *group = nullptr;
  WEFT_TRY(commCall([&](weft_status *status) {
    return comm.vtable->create_group(comm.backend, kNone, ranks.data(),
                                     processes, session.firstRank, &group,
                                     status);
  }));
  std::vector<weft_block> sends(received.size(), {sent.data(), sent.size()});
  std::vector<weft_block> staging;
  for (std::string &text : received)
    staging.push_back({text.data(), text.size()});
  std::vector<const void *> places(received.size());
  Status status = commCall([&](weft_status *s) {
    return comm.vtable->exchange_begin(group, messagesOf(sends).data(),
                                       messagesOf(staging).data(),
                                       places.data(), s);
  });
  if (status.ok()) {
    for (size_t i = 0; i < received.size(); ++i)
      if (places[i] != received[i].data() && !received[i].empty())
        std::memcpy(received[i].data(), places[i], received[i].size());
    status = commCall(
        [&](weft_status *s) { return comm.vtable->exchange_end(group, s); });
  }
  comm.vtable->destroy_group(group);
  return status;
}

int64_t numProcesses(const weft_session &session) {
  const CommBackend &comm = session.shared.comm;
  return comm.everyRankIsLocal ? 1 : comm.vtable->num_processes(comm.backend);
}

} // namespace

Status weft::runtime::agree(weft_session &session, const Status &own) {
  int64_t processes = numProcesses(session);
  if (processes == 1)
    return own;
  constexpr size_t kBytes = 1024;
  std::string record(kBytes, '\0');
  int32_t code = int32_t(own.code());
  std::memcpy(record.data(), &code, sizeof code);
  std::memcpy(record.data() + sizeof code, own.text().data(),
              std::min(own.text().size(), kBytes - sizeof code - 1));
  std::vector<std::string> all(size_t(processes), std::string(kBytes, '\0'));
  WEFT_TRY(exchange(session, record, all));
  for (int64_t i = 0; i < processes; ++i) {
    std::memcpy(&code, all[size_t(i)].data(), sizeof code);
    if (code != 0)
      return Status(StatusCode(code), all[size_t(i)].c_str() + sizeof code)
          .prefix("rank " + std::to_string(i));
  }
  return {};
}

Status weft::runtime::broadcast(weft_session &session, std::string &text) {
  int64_t processes = numProcesses(session);
  if (processes == 1)
    return {};
  uint64_t bytes = text.size();
  std::vector<std::string> sizes(size_t(processes), std::string(8, '\0'));
  WEFT_TRY(exchange(session, std::string(reinterpret_cast<char *>(&bytes), 8),
                    sizes));
  std::memcpy(&bytes, sizes[0].data(), 8);
  std::vector<std::string> all(static_cast<size_t>(processes));
  all[0].resize(bytes);
  bool first = session.firstRank == 0;
  WEFT_TRY(exchange(session, first ? text : std::string(), all));
  text = all[0];
  return {};
}
