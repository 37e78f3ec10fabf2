// What the processes of a job tell each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session/AmongProcesses.h"

#include "base/Threads.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

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

/// Work of a thread, and how it ended.
struct Work {
  const std::function<Status()> &work;
  Status status;
};

/// The sizes of all processes' texts. Collective.
Status exchangeSizes(weft_session &session, uint64_t own, std::vector<uint64_t> &sizes) {
  std::vector<weft_block> received;
  for (uint64_t &size : sizes)
    received.push_back({&size, sizeof size});
  return exchangeOnce(session, {&own, sizeof own}, received);
}

} // namespace

std::string weft::runtime::hostOfProcess() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

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

Status weft::runtime::waitForAll(weft_session &session,
                                 const std::function<bool(double seconds)> &isDone) {
  constexpr double kLeastRound = 0.01, kMostRound = 0.2;
  double round = std::clamp(session.world.timeoutSeconds() / 8, kLeastRound, kMostRound);
  for (double busy = 1; busy > 0;)
    WEFT_TRY(reduceMax(session, isDone(round) ? 0 : 1, busy));
  return {};
}

Status weft::runtime::workTogether(weft_session &session, const std::function<Status()> &work) {
  if (numProcesses(session) == 1)
    return work();
  Work own{work, {}};
  Worker worker;
  worker.post(
      [](void *argument) {
        Work &own = *static_cast<Work *>(argument);
        own.status = own.work();
      },
      &own);
  Status heard = waitForAll(session, [&](double seconds) { return worker.waitFor(seconds); });
  worker.wait();
  WEFT_TRY(heard);
  return agree(session, own.status);
}

Status weft::runtime::gatherTexts(weft_session &session, const std::string &text,
                                  std::vector<std::string> &all) {
  int64_t processes = numProcesses(session);
  bool first = session.firstRank == 0;
  all.assign(first ? size_t(processes) : 0, text);
  if (processes == 1)
    return {};
  std::vector<uint64_t> sizes(static_cast<size_t>(processes));
  WEFT_TRY(exchangeSizes(session, text.size(), sizes));
  std::vector<weft_block> received;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].resize(size_t(sizes[i]));
    received.push_back({all[i].data(), all[i].size()});
  }
  return gatherOnce(session, {text.data(), text.size()}, received);
}

Status weft::runtime::broadcast(weft_session &session, std::string &text) {
  int64_t processes = numProcesses(session);
  if (processes == 1)
    return {};
  std::vector<uint64_t> sizes(static_cast<size_t>(processes));
  WEFT_TRY(exchangeSizes(session, text.size(), sizes));
  std::vector<std::string> all(static_cast<size_t>(processes));
  all[0].resize(size_t(sizes[0]));
  bool first = session.firstRank == 0;
  WEFT_TRY(exchange(session, first ? text : std::string(), all));
  text = all[0];
  return {};
}
