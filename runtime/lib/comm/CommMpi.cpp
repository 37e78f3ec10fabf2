// The `mpi` communicator: a plugin, built where MPI is found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/World.h"

#include "weft/runtime/Communicator.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <string>
#include <sys/prctl.h>
#include <thread>
#include <vector>

using weft::runtime::StatusCode;
using weft::runtime::Traffic;
using weft::runtime::Volume;
using weft::runtime::Waited;

namespace {

struct Backend {
  weft_comm_host host;
  int processes = 1, process = 0;
  int groups = 0, mostGroups = 32767; // made so far; tags that MPI has
};

struct Group {
  Backend *backend;
  int tag; // tells its messages from other groups'
  std::vector<int64_t> ranks;
  int64_t me;
  // Room for one exchange, so that it need not allocate.
  std::vector<MPI_Request> requests;
  std::vector<int64_t> peers; // of the requests
  Traffic traffic;
};

int32_t fail(weft_status *status, StatusCode code, const std::string &text) {
  std::snprintf(status->text, sizeof status->text, "%s", text.c_str());
  status->code = int32_t(code);
  return status->code;
}

/// Checks the result of `call`, naming it.
int32_t check(int result, const char *call, int line, weft_status *status) {
  if (result == MPI_SUCCESS)
    return 0;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(result, text, &length);
  return fail(status, StatusCode::RankFailed,
              std::string(call) + " at CommMpi.cpp:" + std::to_string(line) + ": " +
                  std::string(text, size_t(length)));
}
#define CHECK_MPI(call)                                                                            \
  do {                                                                                             \
    int32_t code_ = check(call, #call, __LINE__, status);                                          \
    if (code_ != 0)                                                                                \
      return code_;                                                                                \
  } while (false)

/// MPI counts are int; larger blocks travel as chunks of bytes.
constexpr uint64_t kChunk = uint64_t(1) << 30;

std::string rankList(const Group &group, const std::vector<bool> &arrived, bool wanted) {
  std::string text;
  for (size_t i = 0; i < group.ranks.size(); ++i)
    if (arrived[i] == wanted)
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(group.ranks[i]);
  return text.empty() ? "none" : text;
}

/// Seconds between two looks at requests that do not come at once.
constexpr double kLeastSleep = 50e-6, kMostSleep = 250e-6;

/// Waits for all requests with the host's patience.
int32_t waitAll(Group &group, weft_status *status) {
  std::vector<MPI_Request> &requests = group.requests;
  Waited time;
  for (unsigned spins = 0;; ++spins) {
    int done = 0;
    CHECK_MPI(MPI_Testall(int(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
    if (done)
      return 0;
    if (spins < 2000)
      continue;
    // Ranks may share cores: let the others run. On a full machine a thread that yields comes back
    // after many milliseconds, and one that sleeps when it asked to; who has waited long may wait a
    // little longer, as polls of many ranks fill the cores.
    double waited = time.seconds();
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::min(std::max(waited / 64, kLeastSleep), kMostSleep)));
    if (group.backend->host.aborted(group.backend->host.context))
      return fail(status, StatusCode::RankFailed, "stopped because another rank failed");
    const double limit = group.backend->host.timeout_seconds(group.backend->host.context);
    if (waited <= limit)
      continue;
    // Testall leaves those that are done alone unless all are; this does not.
    int some = 0;
    std::vector<int> indices(requests.size());
    CHECK_MPI(MPI_Testsome(int(requests.size()), requests.data(), &some, indices.data(),
                           MPI_STATUSES_IGNORE));
    std::vector<bool> arrived(group.ranks.size(), true);
    for (size_t i = 0; i < requests.size(); ++i)
      if (requests[i] != MPI_REQUEST_NULL)
        arrived[size_t(group.peers[i])] = false;
    char patience[32];
    std::snprintf(patience, sizeof patience, "%g", limit);
    return fail(status, StatusCode::Hang,
                std::string("no progress for ") + patience +
                    " s; arrived: " + rankList(group, arrived, true) +
                    "; missing: " + rankList(group, arrived, false));
  }
}

void destroy(void *opaque) {
  delete static_cast<Backend *>(opaque);
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized)
    MPI_Finalize();
}

int32_t createGroup(void *opaque, uint32_t id, const int64_t *ranks, int64_t members, int64_t me,
                    void **result, weft_status *status) {
  auto &backend = *static_cast<Backend *>(opaque);
  // Every process makes the groups of the same axes at the same time, so their
  // number is known to all members without a word; a communicator of MPI's own
  // would be made by a call that waits for all processes, under no clock.
  auto *group = new Group{&backend, backend.groups, {ranks, ranks + members}, me, {}, {}, {}};
  *result = group;
  if (backend.groups == backend.mostGroups)
    return fail(status, StatusCode::UserError,
                "this MPI tells only " + std::to_string(backend.mostGroups) +
                    " groups of ranks apart; use --comm tcp");
  ++backend.groups;
  return 0;
}

void destroyGroup(void *opaque) { delete static_cast<Group *>(opaque); }

int32_t post(Group &group, bool sends, void *data, uint64_t bytes, int64_t peer,
             weft_status *status) {
  int rank = int(group.ranks[size_t(peer)]);
  Volume &volume = sends ? group.traffic.sent : group.traffic.received;
  for (uint64_t at = 0; at < bytes; at += kChunk) {
    int count = int(bytes - at < kChunk ? bytes - at : kChunk);
    char *from = static_cast<char *>(data) + at;
    group.requests.push_back(MPI_REQUEST_NULL);
    group.peers.push_back(peer);
    MPI_Request *request = &group.requests.back();
    if (sends)
      CHECK_MPI(MPI_Isend(from, count, MPI_BYTE, rank, group.tag, MPI_COMM_WORLD, request));
    else
      CHECK_MPI(MPI_Irecv(from, count, MPI_BYTE, rank, group.tag, MPI_COMM_WORLD, request));
    volume.bytes += uint64_t(count);
  }
  return 0;
}

/// Posts the blocks of a message, which is one however many they are.
int32_t postMessage(Group &group, bool sends, const weft_message &message, int64_t peer,
                    weft_status *status) {
  Volume &volume = sends ? group.traffic.sent : group.traffic.received;
  uint64_t before = volume.bytes;
  int32_t code = 0;
  for (uint64_t b = 0; b < message.count && code == 0; ++b)
    code = post(group, sends, const_cast<void *>(message.blocks[b].data), message.blocks[b].bytes,
                peer, status);
  volume.messages += volume.bytes != before;
  return code;
}

int32_t exchangeBegin(void *opaque, const weft_message *sends, const weft_message *staging,
                      const void **received, weft_status *status) {
  auto &group = *static_cast<Group *>(opaque);
  int64_t members = int64_t(group.ranks.size());
  group.requests.clear();
  group.peers.clear();
  for (int64_t j = 0; j < members; ++j) {
    const weft_message &from = j == group.me ? sends[j] : staging[j];
    for (uint64_t b = 0; b < from.count; ++b)
      *received++ = from.blocks[b].data;
    int32_t code = j == group.me ? 0 : postMessage(group, false, staging[j], j, status);
    if (code != 0)
      return code;
  }
  for (int64_t j = 0; j < members; ++j) {
    int32_t code = j == group.me ? 0 : postMessage(group, true, sends[j], j, status);
    if (code != 0)
      return code;
  }
  return waitAll(group, status);
}

int32_t exchangeEnd(void *, weft_status *) {
  return 0; // what was received is this process's own copy
}

int32_t transfer(Group &group, bool sends, const void *data, uint64_t bytes, int64_t peer,
                 weft_status *status) {
  group.requests.clear();
  group.peers.clear();
  weft_block block{data, bytes};
  int32_t code = postMessage(group, sends, {&block, 1}, peer, status);
  return code != 0 ? code : waitAll(group, status);
}

int32_t send(void *opaque, int64_t to, const void *data, uint64_t bytes, weft_status *status) {
  return transfer(*static_cast<Group *>(opaque), true, data, bytes, to, status);
}

int32_t recv(void *opaque, int64_t from, void *data, uint64_t bytes, weft_status *status) {
  return transfer(*static_cast<Group *>(opaque), false, data, bytes, from, status);
}

Traffic traffic(const void *group) { return static_cast<const Group *>(group)->traffic; }
void abortJob(void *, int32_t code) { MPI_Abort(MPI_COMM_WORLD, code); }
int64_t numProcesses(void *backend) { return static_cast<Backend *>(backend)->processes; }
int64_t process(void *backend) { return static_cast<Backend *>(backend)->process; }

constexpr weft_comm_vtable kVtable = {kWeftCommunicatorVersion,
                                      "mpi",
                                      destroy,
                                      createGroup,
                                      destroyGroup,
                                      exchangeBegin,
                                      exchangeEnd,
                                      send,
                                      recv,
                                      traffic,
                                      abortJob,
                                      numProcesses,
                                      process};

} // namespace

extern "C" int32_t weft_communicator_open(const weft_comm_host *host,
                                          const weft_comm_vtable **vtable, void **backend,
                                          weft_status *status) {
  // A launcher that dies takes its ranks with it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int provided = 0;
  CHECK_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
  auto *result = new Backend{*host};
  *backend = result;
  *vtable = &kVtable;
  if (provided < MPI_THREAD_MULTIPLE)
    return fail(status, StatusCode::UserError,
                "this MPI cannot be called from several threads "
                "(MPI_THREAD_MULTIPLE), which overlapping communication needs");
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &result->processes));
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &result->process));
  int *most = nullptr, known = 0;
  CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &known));
  result->mostGroups = known ? *most : result->mostGroups;
  return 0;
}
