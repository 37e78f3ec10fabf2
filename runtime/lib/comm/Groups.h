// A rank's communicator groups, and the in-process backend.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_COMM_GROUPS_H
#define WEFT_RUNTIME_LIB_COMM_GROUPS_H

#include "job/World.h"

#include "weft/runtime/Communicator.h"
#include "weft/runtime/Launch.h"
#include "weft/runtime/Placement.h"

#include <map>
#include <string>
#include <vector>

namespace weft::runtime {

/// A backend as loaded, and what it was loaded from.
struct CommBackend {
  const weft_comm_vtable *vtable = nullptr;
  void *backend = nullptr;
  void *library = nullptr; // dlopen handle of a plugin
  bool everyRankIsLocal = true;
};

/// Ranks as threads of this process.
CommBackend openInproc(World &world, int64_t ranks);

/// Ranks as processes that meet at `job`. On failure `backend` may be set all the
/// same, and is to be destroyed.
Status openTcp(const JobAddress &job, const weft_comm_host &host, CommBackend &backend);

/// Opens a plugin, `libweft_<name>.so`, from $WEFT_PLUGIN_PATH, the
/// executable's directory or the place it was built in.
Status openPlugin(const std::string &name, const weft_comm_host &host, CommBackend &backend);

/// Turns a vtable call's code and text into a Status.
template <typename Call> Status commCall(Call call) {
  weft_status status;
  status.code = 0;
  status.text[0] = 0;
  int32_t code = call(&status);
  if (code == 0)
    return {};
  return {StatusCode(code), status.text};
}

/// Messages of one block each.
inline std::vector<weft_message> messagesOf(const std::vector<weft_block> &blocks) {
  std::vector<weft_message> messages;
  for (const weft_block &block : blocks)
    messages.push_back({&block, 1});
  return messages;
}

/// One end of a group.
struct Group {
  const weft_comm_vtable *vtable = nullptr;
  void *handle = nullptr;
  std::vector<int64_t> ranks; // process ranks, by member
  int64_t me = 0;
  int64_t members() const { return int64_t(ranks.size()); }
  Traffic traffic() const { return vtable->traffic(handle); }
};

/// What each member of a communicator has of `extent` elements, by its number.
std::vector<Shard> memberShards(const ProgramView &program, Id communicator, int64_t extent);

/// The groups of one rank. One exists per communicator *and* stream, so that
/// the order of calls on a group is the order on one stream.
class GroupTable {
public:
  GroupTable(const CommBackend &backend) : backend(backend) {}
  ~GroupTable();
  GroupTable(const GroupTable &) = delete;

  /// Made at the first call. The call is collective, which holds because all
  /// ranks prepare the same commands in the same order; stages with commands of
  /// their own agree by creating all groups up front (see createAll).
  Status get(const ProgramView &program, Id communicator, unsigned stream,
             const std::vector<int64_t> &coordinates, const Group *&group);

  /// Makes the groups of every communicator and stream that any body of any
  /// stage uses, in one order on all ranks.
  Status createAll(const ProgramView &program, const std::vector<int64_t> &coordinates);

  /// Calls `visit(communicator, stream, group)` for all groups, in one order on all ranks, until
  /// one fails.
  template <typename Visit> Status forEach(Visit visit) const {
    for (const auto &[key, group] : groups)
      WEFT_TRY(visit(key.first, key.second, group));
    return {};
  }

  /// Of the communicator's groups on all streams.
  Traffic trafficOver(Id communicator) const;

private:
  CommBackend backend;
  std::map<std::pair<Id, unsigned>, Group> groups;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_COMM_GROUPS_H
