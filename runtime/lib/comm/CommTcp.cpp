// The `tcp` communicator: processes that torchrun, srun or a shell started.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/Groups.h"
#include "comm/TcpLinks.h"

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

/// One direction between two members: the number of bytes, then the blocks.
struct Flow {
  uint64_t header = 0; // sent, or received
  const weft_block *blocks = nullptr;
  uint64_t count = 0;
  uint64_t bytes = 0, done = 0; // done counts the header's bytes too
  uint64_t block = 0, at = 0;   // what comes next: a byte of a block
  bool finished() const { return done == sizeof header + bytes; }
  /// Bytes of blocks that have moved.
  uint64_t moved() const { return done > sizeof header ? done - sizeof header : 0; }

  /// What comes next, at most `most` parts.
  size_t next(iovec *parts, size_t most) {
    size_t used = 0;
    if (done < sizeof header)
      parts[used++] = {reinterpret_cast<char *>(&header) + done, sizeof header - done};
    uint64_t from = at;
    for (uint64_t b = block; b < count && used < most; ++b, from = 0)
      if (blocks[b].bytes > from)
        parts[used++] = {static_cast<char *>(const_cast<void *>(blocks[b].data)) + from,
                         blocks[b].bytes - from};
    return used;
  }
  void advance(uint64_t moved) {
    uint64_t ofHeader = std::min(moved, done < sizeof header ? sizeof header - done : 0);
    done += moved;
    for (moved -= ofHeader; block < count;) {
      uint64_t step = std::min(moved, blocks[block].bytes - at);
      moved -= step;
      at += step;
      if (at < blocks[block].bytes)
        return;
      ++block;
      at = 0;
    }
  }
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
  Traffic traffic;
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
    std::snprintf(status->text, sizeof status->text, "%s", result.text().c_str());
    status->code = int32_t(result.code());
  }
  return int32_t(result.code());
}

/// Moves what the system takes or has at once.
Status advance(Group &group, size_t m, bool sends, bool &moved) {
  Member &member = group.members[m];
  Flow &flow = sends ? member.out : member.in;
  Volume &volume = sends ? group.traffic.sent : group.traffic.received;
  constexpr uint64_t kHeader = sizeof flow.header;
  constexpr size_t kParts = 32; // a system call
  while (!flow.finished()) {
    iovec parts[kParts];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = flow.next(parts, kParts);
    ssize_t count = sends ? sendmsg(member.link, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                          : recvmsg(member.link, &message, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return {};
    if (count <= 0)
      return {StatusCode::RankFailed,
              "rank " + std::to_string(group.ranks[m]) + " is lost" +
                  (count < 0 ? std::string(": ") + std::strerror(errno) : "")};
    uint64_t before = flow.moved();
    flow.advance(uint64_t(count));
    volume += {uint64_t(flow.finished() && flow.bytes != 0), flow.moved() - before};
    moved = true;
    if (!sends && flow.done >= kHeader && flow.header != flow.bytes)
      return Status::internal("rank " + std::to_string(group.ranks[m]) + " gives " +
                              std::to_string(flow.header) + " bytes where " +
                              std::to_string(flow.bytes) + " are expected");
  }
  return {};
}

void start(Flow &flow, const weft_message &message) {
  flow = {};
  flow.blocks = message.blocks;
  flow.count = message.count;
  for (uint64_t b = 0; b < message.count; ++b)
    flow.bytes += message.blocks[b].bytes;
  flow.header = flow.bytes;
}

/// Leaves a direction out of the next wait.
void skip(Flow &flow) {
  flow = {};
  flow.done = sizeof flow.header;
}

Status waitAll(Group &group) {
  // Most waits are over within a few system calls.
  constexpr int kTries = 20;
  Waited waited;
  for (int idle = 0;;) {
    bool moved = false, finished = true;
    group.waits.clear();
    for (size_t m = 0; m < group.members.size(); ++m) {
      Member &member = group.members[m];
      if (member.link < 0)
        continue;
      WEFT_TRY(advance(group, m, true, moved));
      WEFT_TRY(advance(group, m, false, moved));
      short events =
          short((member.out.finished() ? 0 : POLLOUT) | (member.in.finished() ? 0 : POLLIN));
      finished &= events == 0;
      if (events)
        group.waits.push_back({member.link, events, 0});
    }
    if (finished)
      return {};
    idle = moved ? 0 : idle + 1;
    // Who is slow is there.
    if (moved)
      waited = Waited();
    if (idle < kTries || poll(group.waits.data(), group.waits.size(), 20) != 0)
      continue;
    std::vector<int64_t> missing;
    for (size_t m = 0; m < group.members.size(); ++m)
      if (!group.members[m].out.finished() || !group.members[m].in.finished())
        missing.push_back(group.ranks[m]);
    WEFT_TRY(group.links->checkWait(waited.seconds(), missing));
  }
}

void destroy(void *backend) { delete static_cast<TcpLinks *>(backend); }

int32_t createGroup(void *backend, uint32_t id, const int64_t *ranks, int64_t members, int64_t me,
                    void **result, weft_status *status) {
  auto *links = static_cast<TcpLinks *>(backend);
  auto *group = new Group{links, {ranks, ranks + members}, me, {}, {}, {}};
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

int32_t exchangeBegin(void *opaque, const weft_message *sends, const weft_message *staging,
                      const void **received, weft_status *status) {
  auto &group = *static_cast<Group *>(opaque);
  for (size_t m = 0; m < group.members.size(); ++m) {
    bool own = int64_t(m) == group.me;
    const weft_message &from = own ? sends[m] : staging[m];
    for (uint64_t b = 0; b < from.count; ++b)
      *received++ = from.blocks[b].data;
    if (own)
      continue;
    start(group.members[m].out, sends[m]);
    start(group.members[m].in, staging[m]);
  }
  return tell(waitAll(group), status);
}

int32_t exchangeEnd(void *, weft_status *) {
  return 0; // what was received is this process's own copy
}

int32_t transfer(Group &group, int64_t peer, bool sends, const void *data, uint64_t bytes,
                 weft_status *status) {
  for (Member &member : group.members) {
    skip(member.in);
    skip(member.out);
  }
  Member &member = group.members[size_t(peer)];
  weft_block block{data, bytes};
  start(sends ? member.out : member.in, {&block, 1});
  return tell(waitAll(group), status);
}

int32_t send(void *opaque, int64_t to, const void *data, uint64_t bytes, weft_status *status) {
  return transfer(*static_cast<Group *>(opaque), to, true, data, bytes, status);
}

int32_t recv(void *opaque, int64_t from, void *data, uint64_t bytes, weft_status *status) {
  return transfer(*static_cast<Group *>(opaque), from, false, data, bytes, status);
}

Traffic traffic(const void *group) { return static_cast<const Group *>(group)->traffic; }
void abortJob(void *backend, int32_t code) { static_cast<TcpLinks *>(backend)->abort(code); }
int64_t numProcesses(void *backend) { return static_cast<TcpLinks *>(backend)->processes(); }
int64_t process(void *backend) { return static_cast<TcpLinks *>(backend)->rank(); }

constexpr weft_comm_vtable kVtable = {kWeftCommunicatorVersion,
                                      "tcp",
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

Status weft::runtime::openTcp(const JobAddress &job, const weft_comm_host &host,
                              CommBackend &result) {
  auto *links = new TcpLinks(job, host);
  result.vtable = &kVtable;
  result.backend = links;
  result.everyRankIsLocal = false;
  return links->open();
}
