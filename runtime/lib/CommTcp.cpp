// The `tcp` communicator: processes that torchrun, srun or a shell started.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Groups.h"
#include "TcpLinks.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

/// One direction between two members: the number of bytes, then the bytes.
struct Flow {
  uint64_t header = 0; // sent, or received
  char *data = nullptr;
  uint64_t bytes = 0, done = 0; // done counts the header's bytes too
  bool finished() const { return done == sizeof header + bytes; }
};

struct Member {
  int link = -1;
  Flow out, in;
};

struct Group {
  TcpLinks *links;
  std::vector<int64_t> ranks;
  int64_t me;
  std::vector<Member> members;
  // Room for one wait, so that it need not allocate.
  std::vector<pollfd> waits;
  ~Group() {
    for (Member &member : members)
      if (member.link >= 0)
        close(member.link);
  }
};

int32_t tell(const Status &result, weft_status *status) {
  if (!result.ok()) {
    std::snprintf(status->text, sizeof status->text, "%s",
                  result.text().c_str());
    status->code = int32_t(result.code());
  }
  return int32_t(result.code());
}

/// Moves what the system takes or has at once.
Status advance(Group &group, size_t m, bool sends, bool &moved) {
  Member &member = group.members[m];
  Flow &flow = sends ? member.out : member.in;
  constexpr uint64_t kHeader = sizeof flow.header;
  while (!flow.finished()) {
    iovec parts[2];
    msghdr message{};
    message.msg_iov = parts;
    if (flow.done < kHeader)
      parts[message.msg_iovlen++] = {reinterpret_cast<char *>(&flow.header) +
                                         flow.done,
                                     kHeader - flow.done};
    uint64_t at = flow.done < kHeader ? 0 : flow.done - kHeader;
    if (at < flow.bytes)
      parts[message.msg_iovlen++] = {flow.data + at, flow.bytes - at};
    ssize_t count =
        sends ? sendmsg(member.link, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
              : recvmsg(member.link, &message, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return {};
    if (count <= 0)
      return {StatusCode::RankFailed,
              "rank " + std::to_string(group.ranks[m]) + " is lost" +
                  (count < 0 ? std::string(": ") + std::strerror(errno) : "")};
    flow.done += uint64_t(count);
    moved = true;
    if (!sends && flow.done >= kHeader && flow.header != flow.bytes)
      return Status::internal("rank " + std::to_string(group.ranks[m]) +
                              " gives " + std::to_string(flow.header) +
                              " bytes where " + std::to_string(flow.bytes) +
                              " are expected");
  }
  return {};
}

void start(Flow &flow, const void *data, uint64_t bytes) {
  flow = {bytes, static_cast<char *>(const_cast<void *>(data)), bytes, 0};
}

/// Leaves a direction out of the next wait.
void skip(Flow &flow) { flow = {0, nullptr, 0, sizeof flow.header}; }

Status waitAll(Group &group) {
  // Most waits are over within a few system calls.
  constexpr int kTries = 20;
  Clock::time_point begin = Clock::now();
  for (int idle = 0;;) {
    bool moved = false, finished = true;
    group.waits.clear();
    for (size_t m = 0; m < group.members.size(); ++m) {
      Member &member = group.members[m];
      if (member.link < 0)
        continue;
      WEFT_TRY(advance(group, m, true, moved));
      WEFT_TRY(advance(group, m, false, moved));
      short events = short((member.out.finished() ? 0 : POLLOUT) |
                           (member.in.finished() ? 0 : POLLIN));
      finished &= events == 0;
      if (events)
        group.waits.push_back({member.link, events, 0});
    }
    if (finished)
      return {};
    idle = moved ? 0 : idle + 1;
    if (idle < kTries || poll(group.waits.data(), group.waits.size(), 20) != 0)
      continue;
    std::vector<int64_t> missing;
    for (size_t m = 0; m < group.members.size(); ++m)
      if (!group.members[m].out.finished() || !group.members[m].in.finished())
        missing.push_back(group.ranks[m]);
    WEFT_TRY(group.links->checkWait(secondsSince(begin), missing));
  }
}

void destroy(void *backend) { delete static_cast<TcpLinks *>(backend); }

int32_t createGroup(void *backend, uint32_t id, const int64_t *ranks,
                    int64_t members, int64_t me, void **result,
                    weft_status *status) {
  auto *links = static_cast<TcpLinks *>(backend);
  auto *group = new Group{links, {ranks, ranks + members}, me, {}, {}};
  *result = group;
  std::vector<int> descriptors;
  Status made = links->connectGroup(id, group->ranks, me, descriptors);
  group->members.resize(size_t(members));
  group->waits.reserve(size_t(members));
  for (size_t m = 0; m < descriptors.size(); ++m) {
    group->members[m].link = descriptors[m];
    skip(group->members[m].in);
    skip(group->members[m].out);
  }
  return tell(made, status);
}

void destroyGroup(void *group) { delete static_cast<Group *>(group); }

int32_t exchangeBegin(void *opaque, const weft_block *sends,
                      const weft_block *staging, const void **received,
                      weft_status *status) {
  auto &group = *static_cast<Group *>(opaque);
  for (size_t m = 0; m < group.members.size(); ++m) {
    bool own = int64_t(m) == group.me;
    received[m] = own ? sends[m].data : staging[m].data;
    if (own)
      continue;
    start(group.members[m].out, sends[m].data, sends[m].bytes);
    start(group.members[m].in, staging[m].data, staging[m].bytes);
  }
  return tell(waitAll(group), status);
}

int32_t exchangeEnd(void *, weft_status *) {
  return 0; // what was received is this process's own copy
}

int32_t transfer(Group &group, int64_t peer, bool sends, const void *data,
                 uint64_t bytes, weft_status *status) {
  for (Member &member : group.members) {
    skip(member.in);
    skip(member.out);
  }
  Member &member = group.members[size_t(peer)];
  start(sends ? member.out : member.in, data, bytes);
  return tell(waitAll(group), status);
}

int32_t send(void *opaque, int64_t to, const void *data, uint64_t bytes,
             weft_status *status) {
  return transfer(*static_cast<Group *>(opaque), to, true, data, bytes, status);
}

int32_t recv(void *opaque, int64_t from, void *data, uint64_t bytes,
             weft_status *status) {
  return transfer(*static_cast<Group *>(opaque), from, false, data, bytes,
                  status);
}

void abortJob(void *backend, int32_t code) {
  static_cast<TcpLinks *>(backend)->abort(code);
}
int64_t numProcesses(void *backend) {
  return static_cast<TcpLinks *>(backend)->processes();
}
int64_t process(void *backend) {
  return static_cast<TcpLinks *>(backend)->rank();
}

constexpr weft_comm_vtable kVtable = {kWeftCommunicatorVersion,
                                      "tcp",
                                      destroy,
                                      createGroup,
                                      destroyGroup,
                                      exchangeBegin,
                                      exchangeEnd,
                                      send,
                                      recv,
                                      abortJob,
                                      numProcesses,
                                      process};

} // namespace

Status weft::runtime::openTcp(const JobAddress &job, const weft_comm_host &host,
                              CommBackend &result) {
  auto *links = new TcpLinks(job, host);
  result.vtable = &kVtable;
  result.backend = links;
  result.everyRankIsLocal = false;
  return links->open();
}
