// What the processes of a job tell each other about a checkpoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint/CheckpointGroup.h"

#include <cstring>

using namespace weft::runtime;

namespace {

/// `received[i]` must have the size that process i sends.
Status exchange(weft_session &session, const std::string &sent,
                std::vector<std::string> &received) {
  std::vector<weft_block> blocks;
  for (std::string &text : received)
    blocks.push_back({text.data(), text.size()});
  return exchangeOnce(session, {sent.data(), sent.size()}, blocks);
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

Status weft::runtime::gatherTexts(weft_session &session, const std::string &text,
                                  std::vector<std::string> &all) {
  int64_t processes = numProcesses(session);
  bool first = session.firstRank == 0;
  all.assign(first ? size_t(processes) : 0, text);
  if (processes == 1)
    return {};
  uint64_t bytes = text.size();
  std::vector<std::string> sizes(size_t(processes), std::string(8, '\0'));
  WEFT_TRY(exchange(session, std::string(reinterpret_cast<char *>(&bytes), 8), sizes));
  std::vector<weft_block> sends(sizes.size()), staging(sizes.size());
  std::vector<const void *> received(sizes.size());
  sends[0] = {text.data(), text.size()};
  for (size_t i = 0; i < all.size(); ++i) {
    std::memcpy(&bytes, sizes[i].data(), 8);
    all[i].resize(size_t(bytes));
    staging[i] = {all[i].data(), all[i].size()};
  }
  std::vector<weft_message> given = messagesOf(sends), wanted = messagesOf(staging);
  const weft_comm_vtable &vtable = *session.shared.comm.vtable;
  WEFT_TRY(session.waiting([&](weft_status *s) {
    return vtable.exchange_begin(session.processGroup, given.data(), wanted.data(), received.data(),
                                 s);
  }));
  if (first)
    all[0] = text;
  return session.waiting(
      [&](weft_status *s) { return vtable.exchange_end(session.processGroup, s); });
}

Status weft::runtime::broadcast(weft_session &session, std::string &text) {
  int64_t processes = numProcesses(session);
  if (processes == 1)
    return {};
  uint64_t bytes = text.size();
  std::vector<std::string> sizes(size_t(processes), std::string(8, '\0'));
  WEFT_TRY(exchange(session, std::string(reinterpret_cast<char *>(&bytes), 8), sizes));
  std::memcpy(&bytes, sizes[0].data(), 8);
  std::vector<std::string> all(static_cast<size_t>(processes));
  all[0].resize(bytes);
  bool first = session.firstRank == 0;
  WEFT_TRY(exchange(session, first ? text : std::string(), all));
  text = all[0];
  return {};
}
