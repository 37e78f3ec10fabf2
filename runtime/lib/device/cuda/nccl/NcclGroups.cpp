// Makes NCCL's communicators and asks after them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/nccl/NcclGroups.h"

#include <cstring>
#include <thread>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

/// Member 0 gives all others its id.
Status NcclGroups::exchangeId(const Group &group, NcclUniqueId &id) const {
  size_t members = group.ranks.size();
  NcclUniqueId mine = id;
  std::vector<weft_block> sends(members, {&mine, group.me == 0 ? sizeof mine : 0});
  std::vector<weft_block> rooms(members, {&id, 0});
  rooms[0].bytes = sizeof id;
  std::vector<const void *> received(members);
  // Others may read them until the end.
  std::vector<weft_message> out = messagesOf(sends), in = messagesOf(rooms);
  WEFT_TRY(commCall([&](weft_status *status) {
    return group.vtable->exchange_begin(group.handle, out.data(), in.data(), received.data(),
                                        status);
  }));
  if (received[0] != &id)
    std::memcpy(&id, received[0], sizeof id);
  return commCall(
      [&](weft_status *status) { return group.vtable->exchange_end(group.handle, status); });
}

Status NcclGroups::connect(const Group &group, NcclComm &comm) const {
  NcclUniqueId id{};
  if (group.me == 0)
    WEFT_TRY(nccl.check(nccl.makeId(&id), "naming a group"));
  WEFT_TRY(exchangeId(group, id));
  NcclConfig config;
  config.blocking = 0;
  NcclResult result = nccl.join(&comm, int(group.members()), id, int(group.me), &config);
  return settle(comm, result, "joining a group");
}

Status NcclGroups::connect(const GroupTable &groups) {
  return groups.forEach([&](Id communicator, unsigned stream, const Group &group) {
    // In the table at once, so that one that did not come about is aborted, too.
    return connect(group, comms[{communicator, stream}]);
  });
}

Status NcclGroups::settle(NcclComm comm, NcclResult result, const char *what) const {
  Waited waited;
  for (int polls = 0; result == NcclInProgress; ++polls) {
    if (world.aborted())
      return World::stopped();
    if (waited.seconds() > world.timeoutSeconds())
      return {StatusCode::Hang, "waited " + std::to_string(world.timeoutSeconds()) +
                                    " s for other ranks, in NCCL, at " + what};
    if (polls > kSpins)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    WEFT_TRY(nccl.check(nccl.asyncError(comm, &result), std::string("asking after ") + what));
  }
  return nccl.check(result, what);
}

Status NcclGroups::check(unsigned &stream) const {
  for (const auto &[key, comm] : comms) {
    NcclResult state = NcclSuccess;
    stream = key.second;
    WEFT_TRY(nccl.check(nccl.asyncError(comm, &state), "asking after a group"));
    if (state == NcclInProgress)
      continue;
    Status failed = nccl.check(state, "work of a group");
    // All was right when the group was made: its GPUs or its network are not as they were.
    bool isFault =
        state == NcclUnhandledCudaError || state == NcclSystemError || state == NcclInternalError;
    if (isFault && failed.code() == StatusCode::UserError)
      return {StatusCode::DeviceFailed, failed.text()};
    WEFT_TRY(failed);
  }
  return {};
}

Status NcclGroups::disconnect() {
  for (auto &entry : comms) {
    WEFT_TRY(settle(entry.second, nccl.finalize(entry.second), "leaving a group"));
    WEFT_TRY(nccl.check(nccl.destroy(std::exchange(entry.second, nullptr)), "leaving a group"));
  }
  comms.clear();
  return {};
}

void NcclGroups::abort() {
  // One after the other each would wait for a graph whose work waits in the next.
  bool isTogether = nccl.abortsInGroups() && nccl.groupStart() == NcclSuccess;
  for (auto &entry : comms)
    if (entry.second)
      (void)nccl.abort(entry.second);
  if (isTogether)
    (void)nccl.groupEnd();
  comms.clear();
}
