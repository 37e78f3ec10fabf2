// The `inproc` communicator: ranks are threads and read each other's memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/Groups.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

using namespace weft::runtime;

namespace {

/// A rendezvous of one sender and one receiver.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  const void *data = nullptr;
  uint64_t bytes = 0;
  bool full = false;
};

/// What the members of a group share.
struct SharedGroup {
  explicit SharedGroup(std::vector<int64_t> ranks)
      : ranks(std::move(ranks)), arrived(this->ranks.size()), sends(this->ranks.size()),
        mailboxes(new Mailbox[this->ranks.size() * this->ranks.size()]) {}

  std::vector<int64_t> ranks;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<uint64_t> generation{0};
  size_t count = 0;
  std::vector<uint8_t> arrived;
  std::vector<const weft_message *> sends;
  std::unique_ptr<Mailbox[]> mailboxes; // [from][to]
};

struct Backend {
  Backend(World &world, int64_t ranks) : world(world), ranks(ranks) {}
  World &world;
  int64_t ranks;
  std::mutex mutex;
  // By (id, first member): groups over the same axes differ in their members.
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::weak_ptr<SharedGroup>> groups;
};

struct MemberGroup {
  Backend *backend;
  std::shared_ptr<SharedGroup> shared;
  int64_t me;
  Traffic traffic{};
};

int32_t fail(weft_status *status, const Status &failure) {
  std::snprintf(status->text, sizeof status->text, "%s", failure.text().c_str());
  status->code = int32_t(failure.code());
  return status->code;
}

std::string list(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : ", ") + item;
  return text.empty() ? "none" : text;
}

Status late(const World &world, const std::string &here, const std::string &missing) {
  char patience[32];
  std::snprintf(patience, sizeof patience, "%g", world.timeoutSeconds());
  return {StatusCode::Hang, std::string("no progress for ") + patience + " s; arrived: " + here +
                                "; missing: " + missing};
}

int32_t barrier(MemberGroup &group, weft_status *status) {
  SharedGroup &shared = *group.shared;
  std::unique_lock<std::mutex> lock(shared.mutex);
  uint64_t mine = shared.generation.load(std::memory_order_relaxed);
  shared.arrived[group.me] = 1;
  if (++shared.count == shared.ranks.size()) {
    shared.count = 0;
    std::fill(shared.arrived.begin(), shared.arrived.end(), 0);
    shared.generation.store(mine + 1, std::memory_order_release);
    lock.unlock();
    shared.changed.notify_all();
    return 0;
  }
  auto complete = [&] { return shared.generation.load(std::memory_order_acquire) != mine; };
  lock.unlock();
  if (spinUntil(group.backend->world.spins(), complete))
    return 0;
  lock.lock();
  Wait wait = waitFor(group.backend->world, lock, shared.changed, complete);
  if (wait == Wait::Done)
    return 0;
  if (wait == Wait::Aborted)
    return fail(status, World::stopped());
  std::vector<std::string> here, missing;
  for (size_t i = 0; i < shared.ranks.size(); ++i)
    (shared.arrived[i] ? here : missing).push_back("rank " + std::to_string(shared.ranks[i]));
  return fail(status, late(group.backend->world, list(here), list(missing)));
}

void destroy(void *backend) { delete static_cast<Backend *>(backend); }

int32_t createGroup(void *opaque, uint32_t id, const int64_t *ranks, int64_t members, int64_t me,
                    void **group, weft_status *status) {
  auto &backend = *static_cast<Backend *>(opaque);
  std::vector<int64_t> list(ranks, ranks + members);
  std::lock_guard<std::mutex> lock(backend.mutex);
  std::weak_ptr<SharedGroup> &entry = backend.groups[{id, list}];
  std::shared_ptr<SharedGroup> shared = entry.lock();
  if (!shared)
    entry = shared = std::make_shared<SharedGroup>(list);
  *group = new MemberGroup{&backend, std::move(shared), me};
  return 0;
}

void destroyGroup(void *group) { delete static_cast<MemberGroup *>(group); }

void count(Volume &volume, uint64_t bytes) { volume += {uint64_t(bytes != 0), bytes}; }

int32_t exchangeBegin(void *opaque, const weft_message *sends, const weft_message *staging,
                      const void **received, weft_status *status) {
  auto &group = *static_cast<MemberGroup *>(opaque);
  SharedGroup &shared = *group.shared;
  {
    std::lock_guard<std::mutex> lock(shared.mutex);
    shared.sends[group.me] = sends;
  }
  int32_t code = barrier(group, status);
  if (code != 0)
    return code;
  auto bytes = [](const weft_message &message, uint64_t block) {
    return block < message.count ? message.blocks[block].bytes : 0;
  };
  auto sum = [](const weft_message &message) {
    uint64_t total = 0;
    for (uint64_t b = 0; b < message.count; ++b)
      total += message.blocks[b].bytes;
    return total;
  };
  for (size_t j = 0; j < shared.ranks.size(); ++j) {
    const weft_message &given = shared.sends[j][group.me];
    if (int64_t(j) != group.me) {
      count(group.traffic.sent, sum(sends[j]));
      count(group.traffic.received, sum(given));
    }
    uint64_t blocks = std::max(given.count, staging[j].count);
    for (uint64_t b = 0; b < blocks; ++b)
      if (bytes(given, b) != bytes(staging[j], b))
        return fail(status,
                    Status::internal("rank " + std::to_string(shared.ranks[j]) + " gives " +
                                     std::to_string(bytes(given, b)) + " bytes where rank " +
                                     std::to_string(shared.ranks[group.me]) + " expects " +
                                     std::to_string(bytes(staging[j], b))));
    for (uint64_t b = 0; b < staging[j].count; ++b)
      *received++ = b < given.count ? given.blocks[b].data : nullptr;
  }
  return 0;
}

int32_t exchangeEnd(void *group, weft_status *status) {
  return barrier(*static_cast<MemberGroup *>(group), status);
}

int32_t waitMailbox(MemberGroup &group, Mailbox &box, std::unique_lock<std::mutex> &lock, bool full,
                    int64_t peer, weft_status *status) {
  Wait wait = waitFor(group.backend->world, lock, box.changed, [&] { return box.full == full; });
  if (wait == Wait::Done)
    return 0;
  if (wait == Wait::Aborted)
    return fail(status, World::stopped());
  const std::vector<int64_t> &ranks = group.shared->ranks;
  return fail(status, late(group.backend->world, "rank " + std::to_string(ranks[group.me]),
                           "rank " + std::to_string(ranks[peer])));
}

int32_t send(void *opaque, int64_t to, const void *data, uint64_t bytes, weft_status *status) {
  auto &group = *static_cast<MemberGroup *>(opaque);
  size_t members = group.shared->ranks.size();
  Mailbox &box = group.shared->mailboxes[group.me * members + to];
  std::unique_lock<std::mutex> lock(box.mutex);
  box.data = data;
  box.bytes = bytes;
  box.full = true;
  box.changed.notify_all();
  count(group.traffic.sent, bytes);
  return waitMailbox(group, box, lock, false, to, status);
}

int32_t recv(void *opaque, int64_t from, void *data, uint64_t bytes, weft_status *status) {
  auto &group = *static_cast<MemberGroup *>(opaque);
  const std::vector<int64_t> &ranks = group.shared->ranks;
  Mailbox &box = group.shared->mailboxes[from * ranks.size() + group.me];
  std::unique_lock<std::mutex> lock(box.mutex);
  int32_t code = waitMailbox(group, box, lock, true, from, status);
  if (code != 0)
    return code;
  if (box.bytes != bytes)
    return fail(status, Status::internal("rank " + std::to_string(ranks[from]) + " sends " +
                                         std::to_string(box.bytes) + " bytes where rank " +
                                         std::to_string(ranks[group.me]) + " expects " +
                                         std::to_string(bytes)));
  if (bytes != 0)
    std::memcpy(data, box.data, bytes);
  count(group.traffic.received, bytes);
  box.full = false;
  box.changed.notify_all();
  return 0;
}

Traffic traffic(const void *group) { return static_cast<const MemberGroup *>(group)->traffic; }
void abortJob(void *backend, int32_t code) {}
int64_t numProcesses(void *backend) { return 1; }
int64_t process(void *backend) { return 0; }

constexpr weft_comm_vtable kVtable = {kWeftCommunicatorVersion,
                                      "inproc",
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

CommBackend weft::runtime::openInproc(World &world, int64_t ranks) {
  CommBackend result;
  result.vtable = &kVtable;
  result.backend = new Backend(world, ranks);
  return result;
}
